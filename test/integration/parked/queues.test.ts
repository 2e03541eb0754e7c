import { afterEach, expect, test } from 'vitest';
import { range } from '../../support/fixtures/inbox-stage.ts';
import { type MemoryInbox, memoryInboxes } from '../../support/fixtures/memory-inbox.ts';
import { until } from '../../support/fixtures/until.ts';

const openInbox = memoryInboxes();
let inbox: MemoryInbox;
afterEach(() => inbox.leave());

const away = new Error('the bank is closed');
/** Tries enough for as long as it is looked at. */
const retry = Array.from({ length: 90 }, () => '200ms' as const);

test('the queue of a parked key is handled in order, many messages in one transaction', {
  tags: ['hot-key-leaves-parking'],
}, async () => {
  inbox = await openInbox();
  let open = false;
  const running = await inbox.consume({
    batch: { size: 50 },
    quickRetries: [],
    retry,
    before: () => {
      if (!open) throw away;
    },
  });
  const fed = range(1, 200);
  inbox.feed(...fed.map((n) => ({ n, key: 'hot' })));
  await until(() => running.counts().parked === fed.length, 120_000);

  open = true;
  await until(async () => (await inbox.parkedKeys()) === 0, 120_000);

  expect(await inbox.effects()).toEqual(fed);
  const transactions = await inbox.database.query('select from effect group by xmin::text');
  expect(transactions.length).toBeLessThan(30);
  expect(running.counts()).toMatchObject({ handled: fed.length, failed: 0 });
});

test('a hot key leaves parking while its traffic continues', {
  tags: ['hot-key-leaves-parking'],
}, async () => {
  inbox = await openInbox();
  let open = false;
  const running = await inbox.consume({
    quickRetries: [],
    retry,
    before: () => {
      if (!open) throw away;
    },
  });
  let fed = 0;
  // 500 messages a second, or as many as the machine gets to.
  const traffic = setInterval(() => {
    const { handled, parked } = running.counts();
    if (fed - parked - handled > 100) return;
    inbox.feed(...range(fed + 1, fed + 10).map((n) => ({ n, key: 'hot' })));
    fed += 10;
  }, 20);
  try {
    await until(() => running.counts().parked >= 100, 120_000);
    open = true;
    await until(async () => (await inbox.parkedKeys()) === 0, 120_000);
  } finally {
    clearInterval(traffic);
  }
  await until(async () => (await inbox.effects()).length === fed, 120_000);

  expect(await inbox.effects()).toEqual(range(1, fed));
});

test('one failing message of a queue uses up only its own tries, and gets quick ones', async () => {
  inbox = await openInbox();
  let open = false;
  const attempts: number[] = [];
  const running = await inbox.consume({
    quickRetries: [1, 1],
    retry: ['1s', '1s', '1s', '1s', '1s', '1s', '1s', '1s', '1s', '1s', '1s', '1s'],
    before: ({ attempt, payload: { n } }) => {
      if (!open) throw away;
      if (n !== 30) return;
      attempts.push(attempt);
      if (attempts.length < 4) throw new Error('not yet');
    },
  });
  inbox.feed(...range(1, 60).map((n) => ({ n, key: 'hot' })));
  await until(() => running.counts().parked === 60, 120_000);
  open = true;
  await until(async () => (await inbox.parkedKeys()) === 0, 120_000);

  expect(await inbox.effects()).toEqual(range(1, 60));
  // Once with others, which does not count, and then in place. Where transactions are slow, the queue goes one by one from the start.
  const [together, alone] = [
    [1, 1, 2, 3],
    [1, 2, 3, 2],
  ];
  expect([together, alone]).toContainEqual(attempts);
});

test('a full queue stops its partition, and no other, until it is shorter', {
  tags: ['hot-key-leaves-parking'],
}, async () => {
  inbox = await openInbox({ partitions: 2 });
  let open = false;
  const running = await inbox.consume({
    quickRetries: [],
    retry,
    maxQueued: 20,
    before: ({ key }) => {
      if (key === 'hot' && !open) throw away;
    },
  });
  const [before, after] = [range(1, 20), range(21, 60)];
  inbox.feed(...before.map((n) => ({ n, key: 'hot' })));
  await until(() => running.counts().parked === 20, 120_000);
  inbox.feed(...after.map((n) => ({ n, key: 'hot' })), { n: 100, key: 'cold', partition: 1 });
  await until(() => running.failing().length > 0 || running.counts().parked === 60, 120_000);
  await until(() => running.counts().handled === 1, 120_000);

  expect(await inbox.kept()).toHaveLength(20);
  expect(await running.status()).toMatchObject({
    parked: 20,
    failing: [{ address: 'numbers', partition: 0, offset: '20', error: { code: 'OUTBOX_QUEUE_FULL' } }],
  });
  expect(running.events).toContainEqual(
    expect.objectContaining({
      type: 'partition-paused',
      partition: 0,
      error: expect.objectContaining({ code: 'OUTBOX_QUEUE_FULL' }),
    }),
  );

  open = true;
  await until(() => running.counts().handled === 61, 120_000);
  expect((await inbox.effects()).filter((n) => n < 100)).toEqual([...before, ...after]);
  await until(() => running.failing().length === 0);
  expect(running.events).toContainEqual(expect.objectContaining({ type: 'partition-resumed', partition: 0 }));
});
