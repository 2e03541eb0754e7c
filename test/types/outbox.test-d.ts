import type pg from 'pg';
import { expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import type { PrismaClient } from '../../dev/generated/shop/client.ts';
import {
  type CancelAnswer,
  cancel,
  clientOf,
  type Duration,
  fromQuery,
  type RescheduleAnswer,
  reschedule,
  type SendOptions,
  type State,
  type Stored,
  send,
  sendBatch,
  type Topic,
  type Transaction,
  topic,
  transaction,
  wake,
} from '../../src/index.ts';

declare const prisma: PrismaClient;
declare const pool: pg.Pool;
declare const tx: Transaction;

const orders = topic(
  'orders',
  z.object({ orderId: z.string(), at: z.string().transform((text) => new Date(text)) }),
);

test('a topic has the types of sent and received payloads', () => {
  expectTypeOf(orders).toEqualTypeOf<Topic<{ orderId: string; at: string }, { orderId: string; at: Date }>>();
});

test('the payload is the input of the schema', () => {
  expectTypeOf(send(tx, orders, { orderId: '1', at: '2026-01-01' })).toEqualTypeOf<Promise<Stored>>();
  // @ts-expect-error a field is missing
  void send(tx, orders, { orderId: '1' });
  // @ts-expect-error a number is not a text
  void send(tx, orders, { orderId: 1, at: '2026-01-01' });
  // @ts-expect-error the consumer receives a Date, the sender passes a text
  void send(tx, orders, { orderId: '1', at: new Date() });
  // @ts-expect-error a field unknown to the schema
  void send(tx, orders, { orderId: '1', at: '', more: true });
  // @ts-expect-error in a batch, too
  void sendBatch(tx, orders, [{ payload: { orderId: 1, at: '' } }]);
  expectTypeOf(
    sendBatch(tx, orders, [{ payload: { orderId: '1', at: '' }, key: 'k', after: '1h' }]),
  ).toEqualTypeOf<Promise<readonly Stored[]>>();
});

test('unknown and contradictory options do not compile', () => {
  const payload = { orderId: '1', at: '' };
  void send(tx, orders, payload, { key: 'k', ref: 'r', id: 'i', headers: { a: 'b' }, after: '15 minutes' });
  // @ts-expect-error no such option
  void send(tx, orders, payload, { kye: 'k' });
  // @ts-expect-error after or at, not both
  void send(tx, orders, payload, { after: 1, at: new Date() });
  // @ts-expect-error a header is a text
  void send(tx, orders, payload, { headers: { a: 1 } });
  // @ts-expect-error an instant is a Date
  void send(tx, orders, payload, { at: '2026-01-01' });
  // @ts-expect-error no such option of a topic
  topic('t', z.string(), { lane: 2 });
  expectTypeOf<SendOptions['after']>().toEqualTypeOf<Duration | undefined>();
});

test('durations are numbers and strings with a unit', () => {
  expectTypeOf<15>().toExtend<Duration>();
  expectTypeOf<'15 minutes'>().toExtend<Duration>();
  expectTypeOf<'30 days'>().toExtend<Duration>();
  expectTypeOf<'soon'>().not.toExtend<Duration>();
  expectTypeOf<'2 months'>().not.toExtend<Duration>();
});

test('answers are closed sets', () => {
  expectTypeOf(cancel(tx, orders, 'ref')).toEqualTypeOf<Promise<CancelAnswer>>();
  expectTypeOf(cancel(tx, orders, { id: 'id' })).toEqualTypeOf<
    Promise<'canceled' | 'too-late' | 'unknown'>
  >();
  expectTypeOf(reschedule(tx, orders, 'ref', { after: 0 })).toEqualTypeOf<Promise<RescheduleAnswer>>();
  expectTypeOf<RescheduleAnswer>().toEqualTypeOf<'rescheduled' | 'too-late' | 'unknown'>();
  expectTypeOf<Stored['state']>().toEqualTypeOf<State>();
  // @ts-expect-error a handle is a ref or an object with the id
  void cancel(tx, orders, { ref: 'r' });
});

test('a transaction of Prisma is accepted, the client itself is not', () => {
  const payload = { orderId: '1', at: '' };
  void prisma.$transaction((inside) => send(inside, orders, payload));
  void prisma
    .$extends({ client: { $hello: () => 1 } })
    .$transaction((inside) => send(inside, orders, payload));
  expectTypeOf(transaction(prisma, (inside) => send(inside, orders, payload))).toEqualTypeOf<
    Promise<Stored>
  >();
  void transaction(prisma, (inside) => inside.order.count());
  void transaction(prisma, (inside) => inside.order.count(), { isolationLevel: 'Serializable', timeout: 9 });
  // @ts-expect-error an option that the client does not have
  void transaction(prisma, (inside) => inside.order.count(), { isolation: 'Serializable' });
  // @ts-expect-error outside of a transaction a message would survive a rollback
  void send(prisma, orders, payload);
  // @ts-expect-error an extended client is a client, too
  void send(prisma.$extends({ client: { $hello: () => 1 } }), orders, payload);
  // @ts-expect-error and so for the others
  void cancel(prisma, orders, 'ref');
  // @ts-expect-error and so for the others
  void reschedule(prisma, orders, 'ref', { after: 0 });
  // @ts-expect-error and so for the others
  void sendBatch(prisma, orders, []);
});

test('the type that a client lacks says what to pass instead, so the compiler’s error does', () => {
  expectTypeOf<Transaction['$connect']>().toEqualTypeOf<
    | 'Pass the tx of prisma.$transaction(async (tx) => …) instead of the client: outside a transaction a message would survive a rollback.'
    | undefined
  >();
});

test('any function that runs SQL can be a transaction', () => {
  expectTypeOf(fromQuery(async () => [])).toEqualTypeOf<Transaction>();
  expectTypeOf(fromQuery).parameter(0).parameters.toEqualTypeOf<[text: string, values: unknown[]]>();
});

test('wake accepts clients, pools and functions, but nothing within a transaction', () => {
  expectTypeOf(wake(prisma)).toEqualTypeOf<void>();
  wake(prisma.$extends({ client: { $hello: () => 1 } }));
  wake(pool);
  wake((text, values) => pool.query(text, values));
  // @ts-expect-error within a transaction it would make commits wait for each other
  void prisma.$transaction(async (inside) => wake(inside));
  // @ts-expect-error what the library takes for a transaction
  wake(tx);
  // @ts-expect-error a connection may be in a transaction
  void pool.connect().then((connection) => wake(connection));
  // @ts-expect-error so does the transaction of a pool
  void clientOf(pool).$transaction(async (inside) => wake(inside));
});

test('the client of a pool has the types of its connections', () => {
  const client = clientOf(pool);
  void client.$transaction(async ({ query, connection }) => {
    expectTypeOf(query).toEqualTypeOf<pg.PoolClient['query']>();
    expectTypeOf(connection).toEqualTypeOf<pg.PoolClient>();
  });
  void transaction(client, (inside) => send(inside, orders, { orderId: '1', at: '' }), { timeout: 9 });
  wake(client);
  // @ts-expect-error an option that it does not have
  void transaction(client, async () => 1, { isolation: 'Serializable' });
  // @ts-expect-error outside of a transaction a message would survive a rollback
  void send(client, orders, { orderId: '1', at: '' });
  // @ts-expect-error a connection is no pool
  void pool.connect().then((connection) => clientOf(connection));
});
