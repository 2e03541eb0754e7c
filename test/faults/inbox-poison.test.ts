import { expect, inject, test } from 'vitest';
import { range } from '../support/fixtures/inbox-stage.ts';
import { MemoryInbox } from '../support/fixtures/memory-inbox.ts';
import { until } from '../support/fixtures/until.ts';
import { startProgram } from '../support/processes/program.ts';

test.for([
  ['one by one', {}],
  ['in batches', { batch: { size: 50 }, inBatches: true }],
] as const)(
  'F28 a message that kills its consumer, %s, is failed after three deaths, and every other one is handled',
  { tags: ['killing-message-fails'], timeout: 300_000 },
  async ([, mode], { onTestFinished }) => {
    const inbox = await MemoryInbox.create();
    onTestFinished(() => inbox.end());
    const { group, url } = inbox;
    const feeds = range(1, 40).map((n) => ({ n, key: `k${n % 10}` }));
    const deadly = 20;
    const settings = {
      group,
      url,
      feeds,
      deadly,
      retry: ['1h'],
      temporalAddress: inject('temporalAddress'),
    } as const;
    for (const death of [1, 2, 3])
      expect(await startProgram('fed-main', { ...settings, ...mode }).exited, `death ${death}`).toBe(
        'SIGKILL',
      );

    inbox.feed(...feeds);
    const next = await inbox.consume({
      ...mode,
      name: 'next',
      retry: ['1h'],
      before: ({ payload: { n } }) => {
        if (n === deadly) throw new Error('It must not be begun again.');
      },
    });
    await until(async () => (await next.status()).lag === 0, 90_000);

    expect(await inbox.kept()).toMatchObject([{ n: 20, state: 'failed', reason: 'killed' }]);
    expect((await inbox.effects()).toSorted((a, b) => a - b)).toEqual(
      range(1, 40).filter((n) => n !== deadly),
    );
    expect(next.counts().failedAttempts).toBe(0);
  },
);

test('a parked message that kills its consumers is failed after three deaths, and no key in hand with it loses a try', {
  tags: ['killing-message-fails'],
}, async ({ onTestFinished }) => {
  const inbox = await MemoryInbox.create();
  onTestFinished(() => inbox.end());
  const { group, url } = inbox;
  const feeds = [
    { n: 1, key: 'a' },
    { n: 2, key: 'a' },
    ...range(3, 6).map((n) => ({ n, key: `beside-${n}` })),
  ];
  const rules = {
    // As few tries as there can be: one that a death uses up would be the last.
    quickRetries: [],
    retry: [50],
    // The others linger until it is begun, on a busy machine seconds later: that must not use up a try.
    transactionTimeout: 60_000,
    temporalAddress: inject('temporalAddress'),
  };
  const parking = await inbox.consume({
    ...rules,
    retry: ['1h'],
    // That all keys fail would pause the address, and park no more of them.
    breaker: false,
    before: () => {
      throw new Error('the bank is closed');
    },
  });
  inbox.feed(...feeds);
  await until(() => parking.counts().parked === feeds.length, 60_000);
  await parking.stop();
  await inbox.database.query(`update outbox.parked_key set next_at = outbox.clock(), told_at = '-infinity'`);
  for (const death of [1, 2, 3])
    expect(
      await startProgram('fed-main', {
        ...rules,
        group,
        url,
        feeds,
        deadly: 1,
        lingering: range(3, 6),
        // All of them are in hand at the first death; later ones would find them there again if they were not alone.
        ...(death > 1 && { laneIdleTimeoutMs: 1_000 }),
      }).exited,
      `death ${death}`,
    ).toBe('SIGKILL');

  const next = await inbox.consume({
    ...rules,
    before: ({ payload: { n } }) => {
      if (n === 1) throw new Error('It must not be begun again.');
    },
  });
  await until(async () => (await inbox.parkedKeys()) === 0, 150_000);

  expect((await inbox.effects()).toSorted((a, b) => a - b)).toEqual(range(2, 6));
  expect(await inbox.kept()).toMatchObject([{ n: 1, state: 'failed', reason: 'killed', attempts: 1 }]);
  expect(next.events).toContainEqual(
    expect.objectContaining({ type: 'failed', id: 'id-1', reason: 'killed' }),
  );
});
