import { afterEach, expect, test } from 'vitest';
import { range } from '../../support/fixtures/inbox-stage.ts';
import { type MemoryInbox, memoryInboxes } from '../../support/fixtures/memory-inbox.ts';
import { until } from '../../support/fixtures/until.ts';

const openInbox = memoryInboxes();
let inbox: MemoryInbox;
afterEach(() => inbox.leave());

const away = new Error('the bank is closed');

test('an outage longer than all tries fails no message and uses up no try, and then all are handled in order', {
  tags: ['outage-fails-no-message'],
}, async () => {
  inbox = await openInbox({ partitions: 4 });
  let open = false;
  const running = await inbox.consume({
    keyConcurrency: 2,
    quickRetries: [1],
    // Used up long before the bank opens.
    retry: ['2s', '1s'],
    breaker: { longestPause: '1s' },
    before: () => {
      if (!open) throw away;
    },
  });
  inbox.feed(...range(0, 199).map((n) => ({ n, key: `k${n % 20}`, partition: n % 4 })));
  const probesFailed = () => running.paused().reduce((sum, { probes }) => sum + probes, 0);

  await until(() => probesFailed() >= 5, 60_000);
  expect(running.paused()).toMatchObject([{ address: 'numbers', error: away }]);
  expect((await running.status()).paused).toHaveLength(1);
  const kept = await inbox.kept();
  // Of eight that failed side by side, those before the fifth; each counts its quick tries, and one that has just begun.
  expect(new Set(kept.map(({ key }) => key)).size).toBeLessThan(8);
  expect(kept.filter(({ attempts, state }) => attempts > 2 || state !== 'parked')).toEqual([]);

  open = true;
  await until(async () => (await inbox.effects()).length === 200 && (await inbox.parkedKeys()) === 0, 60_000);
  await until(async () => (await running.status()).lag === 0);

  const effects = await inbox.effects();
  for (const key of range(0, 19))
    expect(effects.filter((n) => n % 20 === key)).toEqual(range(0, 9).map((n) => 20 * n + key));
  expect(await inbox.kept()).toEqual([]);
  expect(running.paused()).toEqual([]);
  expect(running.counts()).toMatchObject({ handled: 200, failed: 0 });
  const told = running.events.map(({ type }) => type);
  expect(told.indexOf('address-resumed')).toBeGreaterThan(told.indexOf('address-paused'));
});

test('a few failing keys among others pause nothing', { tags: ['outage-fails-no-message'] }, async () => {
  inbox = await openInbox({ partitions: 2 });
  const running = await inbox.consume({
    quickRetries: [],
    retry: [50],
    before: ({ key }) => {
      if (key?.startsWith('bad')) throw away;
    },
  });
  const bad = range(1, 12).map((n) => ({ n, key: `bad${n}` }));
  const good = range(101, 160).map((n) => ({ n, key: `k${n}` }));
  // One of six is bad, and all of them again when their tries come.
  inbox.feed(...good.flatMap((one, n) => (n % 5 === 0 ? [one, ...bad.splice(0, 1)] : [one])));

  await until(() => running.counts().failed === 12 && running.counts().handled === 60, 60_000);

  expect(running.events.filter(({ type }) => type === 'address-paused')).toEqual([]);
});

test('keys that succeed in batches outweigh a few failing ones', async () => {
  inbox = await openInbox();
  const running = await inbox.consume({
    quickRetries: [],
    retry: ['1h'],
    batch: { size: 4 },
    before: ({ key }) => {
      if (key?.startsWith('bad')) throw away;
    },
  });
  const bad = (from: number) => range(from, from + 3).map((n) => ({ n, key: `bad${n}` }));
  // Eight in a row would pause the address.
  inbox.feed(...bad(1), ...range(101, 160).map((n) => ({ n, key: `k${n}` })), ...bad(5));

  const pauses = () => running.events.filter(({ type }) => type === 'address-paused');
  const allDone = () => running.counts().parked === 8 && running.counts().handled === 60;
  await until(() => allDone() || pauses().length > 0, 60_000);

  expect(pauses()).toEqual([]);
});

test('where most keys fail, the others are still handled', {
  tags: ['outage-fails-no-message'],
}, async () => {
  inbox = await openInbox();
  const running = await inbox.consume({
    quickRetries: [],
    retry: ['1h'],
    breaker: { longestPause: 50 },
    before: ({ payload: { n } }) => {
      if (n <= 12) throw away;
    },
  });
  inbox.feed(...range(1, 16).map((n) => ({ n, key: `k${n}` })));

  await until(() => running.counts().handled === 4 && running.counts().parked === 12, 60_000);

  expect(running.events.some(({ type }) => type === 'address-paused')).toBe(true);
  expect((await inbox.effects()).toSorted((a, b) => a - b)).toEqual(range(13, 16));
});
