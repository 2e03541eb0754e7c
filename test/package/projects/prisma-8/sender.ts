// Sends, changes and rolls back with Prisma 8, and prints what it found.
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import {
  cancel,
  clientOf,
  OutboxError,
  reschedule,
  schedule,
  send,
  sendBatch,
  transaction,
  unschedule,
  wake,
} from 'temporal-outbox';
import { once } from 'temporal-outbox/consumer';
import { client, db, narrow, orderPlaced } from './shop.js';

/** The code and the words of the error, or what there was instead. */
const outcomeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(String, (error: unknown) =>
    error instanceof OutboxError ? `${error.code}: ${error.message}` : String(error),
  );

const order = (id: string) => ({ orderId: id });

async function play(): Promise<unknown> {
  const listener = new pg.Client({ connectionString: process.env['DATABASE_URL'] });
  await listener.connect();
  await listener.query('listen outbox');
  let nudges = 0;
  listener.on('notification', () => (nudges += 1));

  const sent = await transaction(client, async (tx) => {
    await tx.orm.public.Order.create({ id: 'sent' });
    const one = await send(tx, orderPlaced, order('sent'), { key: 'sent', headers: { a: 'b' } });
    const many = await sendBatch(tx, orderPlaced, [{ payload: order('a') }, { payload: order('b') }]);
    const later = await send(tx, orderPlaced, order('later'), { after: '1 hour', ref: 'later' });
    return [one.state, many.length, later.state, later.dueAt instanceof Date];
  });
  const changed = await transaction(
    client,
    async (tx) => [
      (await tx.$queryRawUnsafe<{ transaction_isolation: string }[]>('show transaction_isolation'))[0],
      await reschedule(tx, orderPlaced, 'later', { after: '2 hours' }),
      await cancel(tx, orderPlaced, 'later'),
      await cancel(tx, orderPlaced, 'later'),
      await schedule(tx, 'often', orderPlaced, order('often'), { every: '1 hour' }),
      await unschedule(tx, 'often'),
      (await once(tx, 'web', 'request', async () => 'done')).duplicate,
      (await once(tx, 'web', 'request', async () => 'done')).duplicate,
    ],
    { isolationLevel: 'Serializable', timeout: 20_000 },
  );
  const rolledBack = [
    await outcomeOf(
      transaction(client, async (tx) => {
        await tx.orm.public.Order.create({ id: 'never' });
        await send(tx, orderPlaced, order('never'));
        throw new Error('changed my mind');
      }),
    ),
    await outcomeOf(
      transaction(client, async (tx) => {
        await send(tx, orderPlaced, order('never'));
        await tx.orm.public.Order.create({ id: 'sent' }).catch(() => undefined);
      }),
    ),
    await outcomeOf(
      client.$transaction(async (tx) => {
        await tx.orm.public.Order.create({ id: 'never' });
        // Not awaited.
        void send(tx, orderPlaced, { orderId: 7 as unknown as string });
      }),
    ),
    await outcomeOf(
      transaction(
        client,
        async (tx) => {
          await send(tx, orderPlaced, order('never'));
          await delay(2_000);
        },
        { timeout: 100 },
      ),
    ),
  ];
  const notAwaited = await client.$transaction(
    async (tx) => void send(tx, orderPlaced, order('not awaited')),
  );
  const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'], max: 1 });
  const full = narrow(pool);
  const waited = await full.$transaction(async () =>
    outcomeOf(full.$transaction(async () => undefined, { maxWait: 100 })),
  );
  const unwrapped = [
    // @ts-expect-error -- it needs prisma8(db)
    await outcomeOf(db.transaction((tx) => send(tx, orderPlaced, order('unwrapped')))),
    // @ts-expect-error -- the client is refused
    await outcomeOf(send(db, orderPlaced, order('unwrapped'))),
    // @ts-expect-error -- so is this one
    await outcomeOf(send(client, orderPlaced, order('unwrapped'))),
    // @ts-expect-error -- it needs prisma8(db)
    await outcomeOf(transaction(db, async () => undefined)),
    // @ts-expect-error -- it is no pool
    await outcomeOf((async () => clientOf(db))()),
  ];
  await pool.end();
  wake(client);
  const orders = await db.orm.public.Order.all();
  const stored = await client.$queryRawUnsafe<{ payload: string }[]>(
    "select payload::json ->> 'orderId' as payload from outbox.message_view where state::text <> 'canceled' order by 1",
  );
  for (let tries = 0; tries < 1_500 && nudges === 0; tries += 1) await delay(20);
  await listener.end();
  await db.close();
  return {
    sent,
    changed,
    rolledBack,
    notAwaited: String(notAwaited),
    waited,
    unwrapped,
    orders: orders.map(({ id }) => id),
    stored: stored.map(({ payload }) => payload),
    nudged: nudges > 0,
  };
}

play().then(
  (played) => process.stdout.write(JSON.stringify(played)),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
