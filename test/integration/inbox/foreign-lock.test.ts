import { expect, inject, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { memorySource } from '../../../src/brokers/memory/memory-source.ts';
import { topic } from '../../../src/core/topic.ts';
import { InboxConsumer } from '../../../src/inbox/consumer.ts';
import type { RunningConsumer } from '../../../src/inbox/consumer-interface.ts';
import type { Handler } from '../../../src/inbox/handler.ts';
import { startParkedKeys } from '../../../src/temporal/parked-key/engine.ts';
import { createTestDatabase, type TestDatabase } from '../../support/fixtures/database.ts';
import { range, type ShopTransaction } from '../../support/fixtures/inbox-stage.ts';
import { openTransaction } from '../../support/fixtures/open-transaction.ts';
import { openPrisma } from '../../support/fixtures/prisma.ts';
import { until } from '../../support/fixtures/until.ts';

const slow = topic('slow', z.object({ n: z.number() }));
const quick = topic('quick', z.object({ n: z.number() }));
/** Keys side by side, of one partition. */
const inHand = 2;

interface Stage extends TestDatabase {
  readonly running: RunningConsumer;
  readonly source: ReturnType<typeof memorySource>;
}

/** A consumer with two topics and 8 connections, and a table with one row for whom to wait. */
async function consume(handler: Handler<ShopTransaction, { n: number }>): Promise<Stage> {
  const made = await createTestDatabase();
  onTestFinished(() => made.drop());
  await made.database.query('create table account as select 1 as id');
  await made.database.query('create table effect (topic text, n int)');
  const prisma = openPrisma(made.url, { max: 8 });
  onTestFinished(() => prisma.$disconnect());
  const source = memorySource({ partitions: 1 });
  const running = await new InboxConsumer<ShopTransaction>({
    client: prisma,
    settings: {
      group: made.url,
      keyConcurrency: inHand,
      quickRetries: [1],
      retry: ['1h'],
      transactionTimeout: '3s',
    },
    topics: [slow, quick],
    sourceOf: () => source,
    receiptSenderOf: () => ({ send: async () => undefined, close: async () => undefined }),
    deadLetterSenderOf: () => ({ send: async () => [], close: async () => undefined }),
    processInfo: { host: 'here', pid: process.pid, version: '1.2.3' },
    hostParkedKeys: (input) =>
      startParkedKeys({
        ...input,
        temporal: { address: inject('temporalAddress'), namespace: 'default' },
        visible: () => true,
      }),
  })
    .on(slow, handler)
    .on(quick, (tx, { payload: { n } }) => tx.$executeRaw`insert into effect values ('quick', ${n})`)
    .start();
  onTestFinished(() => running.stop());
  return { ...made, running, source };
}

/** Feeds the other topic one by one, each after the one before, and answers how many sessions were stuck at most. */
async function maxStuck({ database, running, source }: Stage, messages: number): Promise<number> {
  const append = (name: string, n: number, key: string): void =>
    void source.append(name, {
      key,
      body: JSON.stringify({ n }),
      headers: { ce_id: `${name}-${n}`, ce_type: name },
    });
  for (const n of range(1, messages)) append(slow.name, n, `k${n}`);
  let most = 0;
  let fed = 0;
  let enough: number | undefined;
  await until(async () => {
    const [row] = await database.query<{ stuck: number; quick: number }>(
      `select (select count(*)::integer from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
         and state <> 'idle' and (wait_event_type = 'Lock' or wait_event = 'PgSleep')) as stuck,
         (select count(*)::integer from effect) as quick`,
    );
    most = Math.max(most, row?.stuck ?? 0);
    if (row?.quick === fed) append(quick.name, (fed += 1), 'k');
    // Each in hand is in its second try, or past it: the other topic must still continue.
    if (running.counts().failedAttempts >= 2 * inHand) enough ??= fed + 10;
    return fed >= (enough ?? Number.POSITIVE_INFINITY);
  }, 60_000);
  return most;
}

test('a locked row takes few connections of a consumer, and other topics continue', {
  tags: ['locked-rows-cost-one-connection'],
}, async () => {
  const stage = await consume((tx) => tx.$executeRaw`update account set id = id`);
  // Open for as long as it takes; a transaction of the library's pool may not be silent for so long.
  const holding = await openTransaction(stage.url);
  await holding.query('select from account for update');

  const stuck = await maxStuck(stage, 4);

  // Of each message in hand the try that has just been given up, and the next one.
  expect(stuck).toBeLessThanOrEqual(2 * inHand);
  expect(stuck).toBeGreaterThan(0);
  await holding.rollback();
});

test('a statement that exceeds the limit of its transaction is ended by the server', {
  tags: ['locked-rows-cost-one-connection'],
}, async () => {
  const stage = await consume((tx) => tx.$queryRaw`select pg_sleep(600)::text`);

  const stuck = await maxStuck(stage, 4);

  expect(stuck).toBeLessThanOrEqual(2 * inHand);
  expect(stuck).toBeGreaterThan(0);
});
