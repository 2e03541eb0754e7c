import pg from 'pg';
import { afterAll, expect, test } from 'vitest';
import { z } from 'zod';
import { consumer, type Transaction } from '../../../src/consumer.ts';
import { receiver } from '../../../src/http.ts';
import { clientOf, fromQuery, prisma8, topic, transaction } from '../../../src/index.ts';
import { memoryBroker } from '../../../src/testing.ts';
import { openPrisma } from '../../support/fixtures/prisma.ts';
import { webhookSecret } from '../../support/fixtures/webhook.ts';

/** Nothing connects: what is given is judged before it is used. */
const url = 'postgresql://127.0.0.1:9/shop';
const pool = new pg.Pool({ connectionString: url });
const prisma = openPrisma(url);
afterAll(() => Promise.all([pool.end(), prisma.$disconnect()]));

const fail = () => Promise.reject(new Error('it was called'));
/** What a client of Prisma 8 has. */
const db = { transaction: fail, runtime: fail, raw: { sql: fail } };
const config = { topics: [topic('orders', z.unknown())], transports: { kafka: memoryBroker() } };
type Client = Parameters<typeof consumer<Transaction>>[0];

const takers: readonly (readonly [name: string, take: (client: Client) => unknown])[] = [
  ['consumer', (client) => consumer(client, { config, group: 'shop' })],
  ['transaction', (client) => transaction(client as never, () => Promise.resolve())],
  [
    'receive()',
    (client) =>
      receiver({ client, group: 'shop', secret: webhookSecret('k'), report: () => undefined }, () =>
        Promise.resolve(),
      ),
  ],
];

const wrong: readonly (readonly [what: string, client: unknown, said: string])[] = [
  ['nothing', undefined, 'undefined: pass a Prisma client, or clientOf(pool)'],
  ['null', null, 'null: pass a Prisma client, or clientOf(pool)'],
  ['a pool', pool, 'a pool: wrap it, as clientOf(pool)'],
  ['a transaction', fromQuery(async () => []), 'a transaction: pass the client that opened it'],
  ['a client of Prisma 8', db, 'a client of Prisma 8: wrap it, as prisma8(db)'],
  [
    'a transaction of Prisma 8',
    { query: fail, execute: fail, invalidated: false },
    'a transaction of Prisma 8: pass prisma8(db), made of the client that opened it',
  ],
  ['an object', {}, 'neither a Prisma client nor made by clientOf(pool)'],
  ['a text', url, 'neither a Prisma client nor made by clientOf(pool)'],
];

test.each(
  takers.flatMap(([name, take]) => wrong.map(([what, ...rest]) => [name, what, take, ...rest] as const)),
)(
  '%s reports at once that its client is %s, and what to pass',
  { tags: ['arguments-refused-at-the-border'] },
  async (name, _what, take, client, said) => {
    await expect(async () => take(client as Client)).rejects.toMatchObject({
      code: 'OUTBOX_OPTION_INVALID',
      message: `The client of ${name} is ${said}.`,
      details: { option: 'client' },
    });
  },
);

test('clients of Prisma, extended ones, and those of a pool are accepted', () => {
  for (const client of [prisma, prisma.$extends({ client: { $hello: () => 1 } }), clientOf(pool)])
    expect(consumer<Transaction>(client, { config, group: 'shop' }).health().state).toBe('stopped');
});

/** A connection of a pool. */
const connection = { connect: fail, query: fail, on: fail, release: fail };

test.each([undefined, null, url, {}, prisma, connection, db])(
  'clientOf refuses anything but a pool: %#',
  (given) => {
    expect(() => clientOf(given as never)).toThrow(
      expect.objectContaining({ code: 'OUTBOX_OPTION_INVALID', details: { option: 'pool' } }),
    );
  },
);

test.each([undefined, {}, pool, prisma, clientOf(pool)])(
  'prisma8 refuses anything but a client of Prisma 8: %#',
  (given) => {
    expect(() => prisma8(given as never)).toThrow(
      expect.objectContaining({ code: 'OUTBOX_OPTION_INVALID', details: { option: 'db' } }),
    );
  },
);

test.each([undefined, pool])('fromQuery refuses anything but a function: %#', (given) => {
  expect(() => fromQuery(given as never)).toThrow(
    expect.objectContaining({ code: 'OUTBOX_OPTION_INVALID', details: { option: 'query' } }),
  );
});
