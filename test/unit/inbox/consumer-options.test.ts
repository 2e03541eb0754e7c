import { expect, test } from 'vitest';
import { resolveConsumerRules } from '../../../src/inbox/consumer-options.ts';

test('what is left out has its default', () => {
  expect(resolveConsumerRules({ group: 'orders' })).toEqual({
    group: 'orders',
    quickRetriesMs: [100, 500, 2_000],
    concurrency: 4,
    fromBeginning: true,
    transactionTimeoutMs: undefined,
    startWithinMs: 60_000,
  });
});

test('no quick retries at all is a choice', () => {
  expect(resolveConsumerRules({ group: 'orders', quickRetries: [] }).quickRetriesMs).toEqual([]);
});

test.for([
  ['group', { group: '' }],
  ['concurrency', { concurrency: 0 }],
  ['concurrency', { concurrency: 1.5 }],
  ['concurrency', { concurrency: 257 }],
  ['quickRetries[1]', { quickRetries: [1, '11s'] }],
  ['transactionTimeout', { transactionTimeout: 0 }],
  ['startWithin', { startWithin: -1 }],
] as const)('a wrong %s is refused by name', ([option, settings]) => {
  expect(() => resolveConsumerRules({ group: 'orders', ...settings })).toThrow(
    expect.objectContaining({ code: 'OUTBOX_INVALID_OPTION', details: { option } }),
  );
});
