import { afterEach, expect, test } from 'vitest';
import { type MemoryInbox, memoryInboxes } from '../../support/fixtures/memory-inbox.ts';
import { until } from '../../support/fixtures/until.ts';

const openInbox = memoryInboxes();
let inbox: MemoryInbox;
afterEach(() => inbox.leave());

test('two records with one id have one effect', { tags: ['effect-once'] }, async () => {
  inbox = await openInbox({ partitions: 2 });
  inbox.feed({ n: 1, id: 'one', partition: 0 }, { n: 1, id: 'one', partition: 1 });

  const running = await inbox.consume();
  await until(() => running.counts().handled + running.counts().duplicates === 2);

  expect(running.counts()).toMatchObject({ handled: 1, duplicates: 1 });
  expect(await inbox.effects()).toEqual([1]);
});

test('a handler that throws leaves neither effect nor id and is tried again in place', async () => {
  inbox = await openInbox();
  inbox.feed({ n: 1 }, { n: 2 });
  const ids = () =>
    inbox.database.query('select from outbox.processed where consumer_group = $1', [inbox.group]);
  const attempts: number[] = [];
  const leftByOthers: unknown[] = [];

  const running = await inbox.consume({
    quickRetries: [1, 1],
    after: async ({ attempt, payload }) => {
      if (payload.n !== 1) return;
      attempts.push(attempt);
      // Seen by another connection.
      leftByOthers.push({ effects: await inbox.effects(), ids: (await ids()).length });
      if (attempt < 3) throw new Error('the bank is closed');
    },
  });
  // Whatever becomes of the first, the second is counted after it.
  await until(() => {
    const { handled, duplicates, parked } = running.counts();
    return handled + duplicates + parked === 2;
  });

  expect(leftByOthers).toEqual([1, 2, 3].map(() => ({ effects: [], ids: 0 })));
  expect(attempts).toEqual([1, 2, 3]);
  expect(await inbox.effects()).toEqual([1, 2]);
  expect(running.counts()).toMatchObject({ failedAttempts: 2, parked: 0 });
  await until(async () => (await running.status()).lag === 0);
});

test('a transaction that takes too long is rolled back and its message is handled again', async () => {
  inbox = await openInbox();
  inbox.feed({ n: 1 });
  /** How many transactions of this database wait for their client. */
  const open = async (): Promise<number> => {
    const rows = await inbox.database.query(
      `select 1 from pg_stat_activity where state like 'idle in transaction%' and datname = current_database()`,
    );
    return rows.length;
  };

  const running = await inbox.consume({
    // As much as a busy machine needs for the second one.
    transactionTimeout: 4_000,
    quickRetries: [1],
    after: async ({ attempt }) => {
      if (attempt === 1) await until(async () => (await open()) === 0);
    },
  });
  await until(() => running.counts().handled === 1);

  expect(running.counts().failedAttempts).toBe(1);
  expect(await inbox.effects()).toEqual([1]);
});
