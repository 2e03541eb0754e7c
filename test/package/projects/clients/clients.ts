// Each kind of Prisma client sends, and nothing is left of what it rolls back. Prints what it found.
import { setTimeout as delay } from 'node:timers/promises';
import { PrismaPg } from '@prisma/adapter-pg';
import { readReplicas } from '@prisma/extension-read-replicas';
import { Client } from 'pg';
import { cancel, OutboxError, reschedule, send, sendBatch, topic, transaction } from 'temporal-outbox';
import { z } from 'zod';
import { PrismaClient } from './prisma-client.js';

const orderPlaced = topic('order-placed', z.object({ orderId: z.string() }));

const open = (connectionString = process.env['DATABASE_URL'] ?? '') =>
  new PrismaClient({ adapter: new PrismaPg({ connectionString }) });

const plain = open();
const extended = open()
  .$extends({ model: { order: { byId: (id: string) => id } } })
  .$extends({ query: { order: { create: ({ args, query }) => query(args) } } });
const other = open(process.env['REPLICA_URL']);
const replicated = open().$extends(readReplicas({ replicas: [other] }));

/** The code of the error, or what there was instead. */
const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(String, (error: unknown) => (error instanceof OutboxError ? error.code : String(error)));

async function play(): Promise<unknown> {
  const listener = new Client({ connectionString: process.env['DATABASE_URL'] });
  await listener.connect();
  await listener.query('listen outbox');
  let nudges = 0;
  listener.on('notification', () => (nudges += 1));

  const sent = [
    await transaction(plain, async (tx) => {
      await tx.order.create({ data: { id: 'plain' } });
      return send(tx, orderPlaced, { orderId: 'plain' }, { key: 'plain' });
    }),
    await transaction(extended, async (tx) => {
      await tx.order.create({ data: { id: tx.order.byId('extended') } });
      return send(tx, orderPlaced, { orderId: 'extended' }, { key: 'extended' });
    }),
    await transaction(replicated, async (tx) => {
      await tx.order.create({ data: { id: 'replicated' } });
      return send(tx, orderPlaced, { orderId: 'replicated' }, { key: 'replicated' });
    }),
  ];
  const serializable = await transaction(
    plain,
    async (tx) => {
      await sendBatch(tx, orderPlaced, [{ payload: { orderId: 'a' } }, { payload: { orderId: 'b' } }]);
      await send(tx, orderPlaced, { orderId: 'later' }, { after: '1 hour', ref: 'later' });
      const moved = await reschedule(tx, orderPlaced, 'later', { after: '2 hours' });
      const [level] = await tx.$queryRawUnsafe<{ transaction_isolation: string }[]>(
        'show transaction_isolation',
      );
      return [level?.transaction_isolation, moved, await cancel(tx, orderPlaced, 'later')];
    },
    { isolationLevel: 'Serializable', timeout: 10_000 },
  );
  const rolledBack = await transaction(extended, async (tx) => {
    await send(tx, orderPlaced, { orderId: 'never' });
    throw new Error('changed my mind');
  }).catch((error: Error) => error.message);
  const roots = [
    // @ts-expect-error -- the root client is refused
    await codeOf(send(plain, orderPlaced, { orderId: 'root' })),
    // @ts-expect-error -- an extended one as well
    await codeOf(send(extended, orderPlaced, { orderId: 'root' })),
    // @ts-expect-error -- and one with replicas
    await codeOf(send(replicated, orderPlaced, { orderId: 'root' })),
  ];
  // The database of the replica has no outbox.
  const missing = [
    await codeOf(transaction(other, (tx) => send(tx, orderPlaced, { orderId: 'x' }))),
    await codeOf(transaction(other, (tx) => cancel(tx, orderPlaced, 'later'))),
    await codeOf(transaction(other, (tx) => tx.$queryRawUnsafe('select * from lost_orders'))),
  ];
  const stored = await plain.$queryRawUnsafe<{ count: number }[]>(
    'select count(*)::int from outbox.message_view',
  );
  // A nudge for each client at least, those with replicas included: the last one follows its commit.
  for (let tries = 0; tries < 1_500 && nudges < 3; tries += 1) await delay(20);
  await listener.end();
  await Promise.all([plain.$disconnect(), extended.$disconnect(), replicated.$disconnect()]);
  return {
    sent: sent.map(({ state }) => state),
    serializable,
    rolledBack,
    roots,
    missing,
    stored: stored[0]?.count,
    nudged: nudges >= 3,
  };
}

play().then(
  (played) => process.stdout.write(JSON.stringify(played)),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
