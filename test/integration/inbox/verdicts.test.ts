import { afterEach, expect, test } from 'vitest';
import { permanent, retryAfter } from '../../../src/inbox/verdict.ts';
import { range } from '../../support/fixtures/inbox-stage.ts';
import { type MemoryInbox, memoryInboxes } from '../../support/fixtures/memory-inbox.ts';
import { until } from '../../support/fixtures/until.ts';

const openInbox = memoryInboxes();
let inbox: MemoryInbox;
afterEach(() => inbox.leave());

const closed = new Error('the account is closed');

/** Whole seconds until the next try of the only parked key. */
async function nextTryInS(): Promise<number> {
  const [row] = await inbox.database.query<{ s: number }>(
    'select extract(epoch from next_at - outbox.clock())::integer as s from outbox.parked_key',
  );
  return row?.s ?? Number.NaN;
}

test('a message that its handler calls permanent is failed at once, in place and when parked, and its key continues', {
  tags: ['handler-has-last-word'],
}, async () => {
  inbox = await openInbox();
  const tries: number[] = [];
  const running = await inbox.consume({
    quickRetries: [1],
    retry: ['50ms', '50ms', '1h'],
    before: ({ payload: { n } }) => {
      if (n > 2) return;
      tries.push(n);
      // The second one is parked before its handler returns a verdict.
      throw n === 1 || tries.length > 3 ? permanent(closed) : closed;
    },
  });
  inbox.feed({ n: 1, key: 'a' }, { n: 2, key: 'a' }, { n: 3, key: 'a' });

  await until(() => running.counts().handled === 1 || tries.length > 4);

  expect(await inbox.effects()).toEqual([3]);
  expect(tries).toEqual([1, 2, 2, 2]);
  const failed = { state: 'failed', reason: 'permanent', error: 'Error: the account is closed' };
  expect(await inbox.kept()).toMatchObject([
    { n: 1, attempts: 1, ...failed },
    { n: 2, attempts: 2, ...failed },
  ]);
  await until(() => running.counts().failed === 2);
  expect(running.events.filter(({ type }) => type === 'failed')).toMatchObject([
    { id: 'id-1', offset: '0', reason: 'permanent', error: { message: closed.message, cause: closed } },
    { id: 'id-2', offset: '1', reason: 'permanent', error: { message: closed.message, cause: closed } },
  ]);
});

test('only the message of a batch that its handler calls permanent is failed, and under block-key it blocks its key', {
  tags: ['handler-has-last-word'],
}, async () => {
  inbox = await openInbox();
  const running = await inbox.consume({
    batch: { size: 10 },
    exhausted: 'block-key',
    inBatches: true,
    before: ({ payload: { n } }) => {
      if (n === 2) throw permanent(closed);
    },
  });
  inbox.feed({ n: 1, key: 'a' }, { n: 2, key: 'b' }, { n: 3, key: 'a' }, { n: 4, key: 'b' });

  await until(async () => running.counts().handled === 2 && (await inbox.kept()).length === 2);

  expect(await inbox.effects()).toEqual([1, 3]);
  expect(await inbox.kept()).toMatchObject([
    { n: 2, state: 'failed', reason: 'permanent', attempts: 1 },
    { n: 4, state: 'parked', reason: null },
  ]);
  // The transaction of all of them, and its own.
  expect(running.counts()).toMatchObject({ failedAttempts: 2, failed: 1 });
});

test('a handler sets when its message is tried again instead of its rules, and each time is a try', {
  tags: ['handler-has-last-word'],
}, async () => {
  inbox = await openInbox();
  const attempts: number[] = [];
  const patience = new Error('the bank asks for patience');
  const running = await inbox.consume({
    // Either would keep the message for longer than this test waits.
    quickRetries: ['10s', '10s'],
    retry: ['1h', '1h'],
    before: ({ attempt, payload: { n } }) => {
      if (n !== 1) return;
      attempts.push(attempt);
      throw retryAfter(patience, attempt === 1 ? '100ms' : '50ms');
    },
  });
  inbox.feed({ n: 1, key: 'a' }, { n: 2, key: 'a' });

  await until(() => running.counts().handled === 1);

  expect(attempts).toEqual([1, 2, 3]);
  expect(await inbox.effects()).toEqual([2]);
  expect(await inbox.kept()).toMatchObject([
    { n: 1, state: 'failed', reason: 'error', error: 'Error: the bank asks for patience', attempts: 3 },
  ]);
});

test('a handler may ask for hours where its rules have moments', {
  tags: ['handler-has-last-word'],
}, async () => {
  inbox = await openInbox();
  const running = await inbox.consume({
    retry: [10, 10, 10],
    before: ({ attempt }) => {
      throw attempt === 1 ? retryAfter(closed, '2h') : retryAfter(closed, '3h');
    },
  });
  inbox.feed({ n: 1, key: 'a' });

  await until(() => running.counts().parked === 1);
  expect(await nextTryInS()).toBeGreaterThan(7_000);

  await inbox.database.query(`update outbox.parked_key set next_at = outbox.clock(), told_at = '-infinity'`);
  await until(async () => (await nextTryInS()) > 10_000);
  expect(await inbox.kept()).toMatchObject([{ n: 1, state: 'parked', attempts: 2 }]);
});

test('verdicts of handlers do not count for the breaker', { tags: ['handler-has-last-word'] }, async () => {
  inbox = await openInbox();
  const running = await inbox.consume({
    retry: ['50ms', '1h'],
    before: ({ payload: { n } }) => {
      throw n <= 10 ? permanent(closed) : retryAfter(closed, '50ms');
    },
  });
  inbox.feed(...range(1, 20).map((n) => ({ n, key: `k${n}` })));

  const pauses = () => running.events.filter(({ type }) => type === 'address-paused');
  // In place, and once each when they are parked.
  await until(() => running.counts().failed === 20 || pauses().length > 0, 60_000);

  expect(pauses()).toEqual([]);
});

test('a message called permanent by the probe of a pause is failed, and the pause continues', async () => {
  inbox = await openInbox();
  let open = false;
  const running = await inbox.consume({
    quickRetries: [],
    retry: ['1h'],
    breaker: { longestPause: 50 },
    before: ({ payload: { n } }) => {
      if (n > 12) throw permanent(closed);
      if (!open) throw new Error('the bank is closed');
    },
  });
  inbox.feed(...range(1, 13).map((n) => ({ n, key: `k${n}` })));

  await until(() => running.counts().failed === 1, 60_000);
  expect(running.paused()).toHaveLength(1);
  expect(running.events.filter(({ type }) => type === 'address-resumed')).toEqual([]);

  open = true;
  await until(() => running.paused().length === 0, 60_000);
});
