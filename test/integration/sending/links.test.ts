// @module-tag apart
import { PrismaPg } from '@prisma/adapter-pg';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { PrismaClient } from '../../../dev/generated/shop/client.ts';
import { topic } from '../../../src/core/topic.ts';
import { send } from '../../../src/index.ts';
import { proxiedDatabase } from '../../support/faults/proxied-database.ts';
import { createTestDatabase } from '../../support/fixtures/database.ts';
import { until } from '../../support/fixtures/until.ts';

const orders = topic('orders', z.object({ n: z.number() }));

/** The settings that docs/production.md names, in shorter times. */
function clientAt(connectionString: string): PrismaClient {
  return new PrismaClient({
    adapter: new PrismaPg({
      connectionString,
      max: 3,
      connectionTimeoutMillis: 3_000,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      query_timeout: 4_500,
      statement_timeout: 3_000,
      lock_timeout: 1_500,
      idle_in_transaction_session_timeout: 3_000,
    }),
    transactionOptions: { maxWait: 6_000, timeout: 3_000 },
  });
}

test('a client with limits survives connections that vanish silently, while idle and within a transaction', async (context) => {
  const made = await createTestDatabase();
  context.onTestFinished(() => made.drop());
  const { proxy, url } = await proxiedDatabase(context, made.url, 1);
  const prisma = clientAt(url);
  context.onTestFinished(() => prisma.$disconnect());
  const vanish = (): void => proxy.inject({ kind: 'strand' });
  /** Sends two messages in one transaction; true: they are stored. */
  const stored = (meanwhile?: () => void): Promise<boolean> =>
    prisma
      .$transaction(async (tx) => {
        await send(tx, orders, { n: 1 });
        meanwhile?.();
        await send(tx, orders, { n: 2 });
      })
      .then(
        () => true,
        () => false,
      );
  /** What becomes of sends, one after the other, until one works. */
  const outcomes = async (): Promise<readonly boolean[]> => {
    const all: boolean[] = [];
    while (all.length < 2 && all.at(-1) !== true) all.push(await stored());
    return all;
  };
  // The first time its queries are compiled.
  await until(() => stored());

  vanish();
  // One fails over the connection that was at rest.
  expect(await outcomes()).toEqual([false, true]);
  expect(await stored(vanish)).toBe(false);
  // Prisma gives the connection back, and the next one to use it finds out; unless it was at rest for too long.
  expect((await outcomes()).at(-1)).toBe(true);
});
