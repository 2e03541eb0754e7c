import { afterEach, expect, test } from 'vitest';
import { type MemoryInbox, memoryInboxes } from '../../support/fixtures/memory-inbox.ts';
import { until } from '../../support/fixtures/until.ts';

const openInbox = memoryInboxes();
let inbox: MemoryInbox;
afterEach(() => inbox.leave());

const away = new Error('the bank is closed');

test('the delays of a handler override those of its consumer, in place and for parked messages', {
  tags: ['retry-delays-apply-everywhere'],
}, async () => {
  inbox = await openInbox();
  const attempts: number[] = [];
  const running = await inbox.consume({
    // With these the message would be failed at its first try.
    quickRetries: [],
    retry: [],
    own: { quickRetries: [1, 1], retry: [20, 20] },
    before: ({ attempt, payload: { n } }) => {
      if (n !== 1) return;
      attempts.push(attempt);
      throw away;
    },
  });
  inbox.feed({ n: 1, key: 'a' }, { n: 2, key: 'a' });

  await until(() => running.counts().handled === 1, 60_000);

  expect(attempts).toEqual([1, 2, 3, 2, 3]);
  expect(await inbox.kept()).toMatchObject([{ n: 1, state: 'failed', attempts: 3 }]);
});

test('a handler without delays fails its message at once, whatever the delays of its consumer', async () => {
  inbox = await openInbox();
  const running = await inbox.consume({
    quickRetries: ['10s'],
    retry: ['1h'],
    own: { quickRetries: [], retry: [] },
    before: () => {
      throw away;
    },
  });
  inbox.feed({ n: 1, key: 'a' });

  await until(() => running.counts().failed === 1);

  expect(await inbox.kept()).toMatchObject([{ n: 1, state: 'failed', reason: 'error', attempts: 1 }]);
  expect(running.counts()).toMatchObject({ failedAttempts: 1, parked: 0 });
});

test('a message queued behind a parked one gets the quick tries of its handler', async () => {
  inbox = await openInbox();
  const tries: number[] = [];
  const running = await inbox.consume({
    quickRetries: [],
    retry: ['50ms', '1h'],
    own: { quickRetries: [1] },
    before: ({ payload: { n } }) => {
      tries.push(n);
      // Both in place, and the first of the second message.
      if (tries.length <= 2 || (n === 2 && tries.filter((one) => one === 2).length === 1)) throw away;
    },
  });
  inbox.feed({ n: 1, key: 'a' }, { n: 2, key: 'a' });

  await until(() => running.counts().handled === 2, 60_000);

  expect(tries).toEqual([1, 1, 1, 2, 2]);
});
