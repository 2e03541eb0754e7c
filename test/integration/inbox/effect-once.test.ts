import { randomUUID } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import type { InboxMessage } from '../../../src/inbox/reading/inbox-message.ts';
import { InboxStage, type Numbered, range } from '../../support/fixtures/inbox-stage.ts';
import { until } from '../../support/fixtures/until.ts';

let stage: InboxStage;
afterEach(() => stage.end());

test('a redelivered message is dropped and its effects are unchanged', async () => {
  stage = await InboxStage.create(2);
  await stage.publish(range(1, 40).map((n) => ({ n, partition: n % 2 })));
  const first = await stage.consume('first');
  await until(async () => first.counts().handled === 40);
  await first.stop();
  await stage.rewind();

  const second = await stage.consume('second');
  await until(() => second.counts().duplicates === 40);

  expect(second.counts()).toMatchObject({ handled: 0, duplicates: 40, ignored: 0, failedAttempts: 0 });
  expect((await stage.effects()).toSorted((a, b) => a - b)).toEqual(range(1, 40));
});

test('two records with one id have one effect', { tags: ['effect-once'] }, async () => {
  stage = await InboxStage.create(2);
  const id = randomUUID();
  await stage.publish([
    { n: 1, id, partition: 0 },
    { n: 1, id, partition: 1 },
  ]);

  const running = await stage.consume('one');
  await until(() => running.counts().handled + running.counts().duplicates === 2);

  expect(running.counts()).toMatchObject({ handled: 1, duplicates: 1 });
  expect(await stage.effects()).toEqual([1]);
});

test('a handler that throws leaves neither effect nor id and is tried again in place', async () => {
  stage = await InboxStage.create(1);
  await stage.publish([{ n: 1 }, { n: 2 }]);
  const attempts: number[] = [];
  const leftByOthers: unknown[] = [];

  const running = await stage.consume('one', {
    quickRetries: [1, 1],
    afterEffect: async ({ attempt, payload }) => {
      if (payload.n !== 1) return;
      attempts.push(attempt);
      // Seen by another connection.
      leftByOthers.push({ effects: await stage.effects(), ids: await stage.processedIds() });
      if (attempt < 3) throw new Error('the bank is closed');
    },
  });
  // Whatever becomes of the first, the second is counted after it.
  await until(() => {
    const { handled, duplicates, parked } = running.counts();
    return handled + duplicates + parked === 2;
  });
  await running.stop();

  expect(leftByOthers).toEqual([1, 2, 3].map(() => ({ effects: [], ids: 0 })));
  expect(attempts).toEqual([1, 2, 3]);
  expect(await stage.effects()).toEqual([1, 2]);
  expect(running.counts()).toMatchObject({ failedAttempts: 2, parked: 0 });
  expect(await stage.committedOffsets()).toEqual([2]);
});

test('a handler receives what was sent and its origin', async () => {
  stage = await InboxStage.create(1);
  const id = randomUUID();
  await stage.publish([{ n: 7, id }]);
  const received: InboxMessage<Numbered>[] = [];

  const running = await stage.consume('one', { afterEffect: (message) => void received.push(message) });
  await until(() => running.counts().handled === 1);

  expect(received).toMatchObject([
    {
      id,
      topic: stage.topic.name,
      key: 'key-0',
      payload: { n: 7 },
      headers: { ce_id: id, ce_type: stage.topic.name, ce_time: '2026-01-02T03:04:05.000Z' },
      attempt: 1,
      sentAt: new Date('2026-01-02T03:04:05Z'),
      address: stage.topic.name,
      partition: 0,
      offset: '0',
    },
  ]);
});

test('a transaction that takes too long is rolled back and its message is handled again', async () => {
  stage = await InboxStage.create(1);
  await stage.publish([{ n: 1 }]);
  /** How many transactions of this database wait for their client. */
  const open = async (): Promise<number> => {
    const rows = await stage.prisma.$queryRaw<
      unknown[]
    >`select 1 from pg_stat_activity where state like 'idle in transaction%' and datname = current_database()`;
    return rows.length;
  };

  const running = await stage.consume('one', {
    // As much as a busy machine needs for the second one.
    transactionTimeout: 8_000,
    quickRetries: [1],
    afterEffect: async ({ attempt }) => {
      if (attempt === 1) await until(async () => (await open()) === 0);
    },
  });
  await until(() => running.counts().handled === 1);

  expect(running.counts().failedAttempts).toBe(1);
  expect(await stage.effects()).toEqual([1]);
});
