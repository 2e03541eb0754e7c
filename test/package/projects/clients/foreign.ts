// Each door refuses a client of MySQL. Prints how.
import type { SqlDriverAdapterFactory } from '@prisma/driver-adapter-utils';
import { cancel, OutboxError, schedule, send, topic, transaction, wake } from 'temporal-outbox';
import { consumer, once } from 'temporal-outbox/consumer';
import { receiver } from 'temporal-outbox/http';
import { z } from 'zod';
import { MySqlClient } from './prisma-client.js';

const orderPlaced = topic('order-placed', z.object({ orderId: z.string() }));

/** A server that begins transactions and understands no statement of PostgreSQL, as MySQL would. */
const named = { provider: 'mysql', adapterName: 'a server of MySQL' } as const;
const done = () => Promise.resolve();
const refuse = () => Promise.reject(new Error("You have an error in your SQL syntax near '::text'"));
const queries = { ...named, queryRaw: refuse, executeRaw: refuse };
const adapter: SqlDriverAdapterFactory = {
  ...named,
  connect: () =>
    Promise.resolve({
      ...queries,
      executeScript: refuse,
      dispose: done,
      startTransaction: () =>
        Promise.resolve({
          ...queries,
          options: { usePhantomQuery: true },
          commit: done,
          rollback: done,
          createSavepoint: done,
          rollbackToSavepoint: done,
          releaseSavepoint: done,
        }),
    }),
};
const mysql = new MySqlClient({ adapter });
const extended = mysql.$extends({ model: { order: { byId: (id: string) => id } } });

/** What the error says, or that there was none. */
const refusalOf = (work: () => unknown): Promise<string> =>
  new Promise((resolve) => resolve(work())).then(
    () => 'done',
    (error: unknown) => (error instanceof OutboxError ? `${error.code}: ${error.message}` : String(error)),
  );

const orders = { orderId: '1' };
const never = () => Promise.reject(new Error('must not be called'));
const config = {} as Parameters<typeof consumer>[1]['config'];
const doors = [
  () => transaction(mysql, never),
  () => transaction(extended, never),
  () => mysql.$transaction((tx) => send(tx, orderPlaced, orders)),
  () => extended.$transaction((tx) => send(tx, orderPlaced, orders)),
  () => mysql.$transaction((tx) => cancel(tx, orderPlaced, '1')),
  () => mysql.$transaction((tx) => schedule(tx, 'daily', orderPlaced, orders, { cron: '@daily' })),
  () => mysql.$transaction((tx) => once(tx, 'orders', '1', never)),
  () => wake(mysql),
  () => consumer(mysql, { config, group: 'orders' }),
  () =>
    receiver(
      {
        client: mysql,
        group: 'orders',
        secret: () => 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
        report: () => undefined,
      },
      never,
    ),
];

Promise.all(doors.map(refusalOf)).then((refused) => process.stdout.write(JSON.stringify(refused)));
