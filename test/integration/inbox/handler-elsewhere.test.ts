import { afterAll, beforeAll, expect, test } from 'vitest';
import { MemoryInbox } from '../../support/fixtures/memory-inbox.ts';
import { until } from '../../support/fixtures/until.ts';

let inbox: MemoryInbox;
beforeAll(async () => {
  inbox = await MemoryInbox.create();
});
afterAll(() => inbox.end());

test('a parked message uses up no try of consumers that do not handle its topic, and one that does handles it', {
  tags: ['try-without-handler-does-not-count'],
}, async () => {
  const failing = await inbox.consume({
    quickRetries: [],
    retry: ['3s'],
    before: () => {
      throw new Error('not yet');
    },
  });
  inbox.feed({ n: 1, key: 'a' });
  await until(() => failing.counts().parked === 1);
  await failing.stop();

  // As in a deployment that rolls: for a while only consumers of the other kind are there.
  const elsewhere = await inbox.consume({
    name: 'elsewhere',
    elsewhere: true,
    quickRetries: [],
    retry: ['1s'],
  });
  const missed = (): number =>
    elsewhere.events.filter(
      (event) =>
        event.type === 'attempt-failed' &&
        String(Reflect.get(Object(event.error), 'code')) === 'OUTBOX_HANDLER_MISSING',
    ).length;
  // One more than it has tries. One that has failed is tried no more.
  await until(async () => missed() >= 2 || (await inbox.kept())[0]?.state === 'failed', 60_000);
  expect(await inbox.kept()).toMatchObject([{ state: 'parked', reason: 'error' }]);
  expect((await inbox.kept())[0]?.attempts).toBeLessThanOrEqual(2);

  await inbox.consume({ name: 'able' });
  await until(async () => (await inbox.effects()).length === 1, 60_000);
  expect(await inbox.kept()).toEqual([]);
});
