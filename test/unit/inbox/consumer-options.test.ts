import { expect, test } from 'vitest';
import { resolveConsumerRules } from '../../../src/inbox/consumer-options.ts';

test('omitted options have their defaults', () => {
  expect(resolveConsumerRules({ group: 'orders' })).toEqual({
    group: 'orders',
    batchSize: undefined,
    batchWaitMs: undefined,
    concurrency: 4,
    keyConcurrency: 2,
    quickRetriesMs: [100, 500],
    tries: { retryMs: [10_000, 30_000, 60_000, 120_000, 300_000], blockKey: false, maxKills: 3 },
    maxQueued: 100_000,
    parkedConcurrency: 4,
    breaker: { keys: 5, longestPauseMs: 30_000 },
    deadAddressOf: undefined,
    windowMs: 30 * 24 * 3_600_000,
    unknown: 'keep',
    failedMs: Number.POSITIVE_INFINITY,
    fromBeginning: true,
    transactionTimeoutMs: undefined,
    startTimeoutMs: Infinity,
  });
});

test('batches keep the order of their partition, also when handled singly', () => {
  const { keyConcurrency } = resolveConsumerRules({
    group: 'orders',
    batch: { size: 10 },
    keyConcurrency: 5,
  });
  expect(keyConcurrency).toBe(1);
});

test('an empty list of quick retries is valid', () => {
  expect(resolveConsumerRules({ group: 'orders', quickRetries: [] }).quickRetriesMs).toEqual([]);
});

test.for([
  ['group', { group: '' }],
  ['group', { group: ' ' }],
  ['concurrency', { concurrency: 0 }],
  ['concurrency', { concurrency: 1.5 }],
  ['concurrency', { concurrency: 257 }],
  ['keyConcurrency', { keyConcurrency: 0 }],
  ['quickRetries[1]', { quickRetries: [1, '11s'] }],
  ['retry[0]', { retry: ['36501 days'] }],
  ['retry', { retry: Array.from({ length: 101 }, () => 1) }],
  ['batch.size', { batch: { size: 10_001 } }],
  ['batch.wait', { batch: { size: 10, wait: '61s' } }],
  ['batch.wait', { batch: { size: 10, wait: 0 } }],
  ['maxKills', { maxKills: 0 }],
  ['maxQueued', { maxQueued: 0 }],
  ['parkedConcurrency', { parkedConcurrency: 257 }],
  ['breaker.keys', { breaker: { keys: 0 } }],
  ['breaker.longestPause', { breaker: { longestPause: 0 } }],
  ['window', { window: '59 minutes' }],
  ['unknown', { unknown: JSON.parse('"drop"') }],
  ['keepFailed', { keepFailed: '59 minutes' }],
  ['transactionTimeout', { transactionTimeout: 0 }],
  ['transactionTimeout', { transactionTimeout: '30 days' }],
  ['startTimeout', { startTimeout: -1 }],
] as const)('an invalid %s is refused by name', ([option, settings]) => {
  expect(() => resolveConsumerRules({ group: 'orders', ...settings })).toThrow(
    expect.objectContaining({
      code: 'OUTBOX_OPTION_INVALID',
      details: expect.objectContaining({ option }),
    }),
  );
});

test('copies of failed messages go to the address with .dead, or to the result of a function', () => {
  const addressOf = (deadLetters: boolean | ((address: string) => string)) =>
    resolveConsumerRules({ group: 'orders', deadLetters }).deadAddressOf?.('orders');
  expect(addressOf(true)).toBe('orders.dead');
  expect(addressOf((address) => `graveyard.${address}`)).toBe('graveyard.orders');
  expect(addressOf(false)).toBeUndefined();
});

test('an unknown option is refused by name', () => {
  const misspelt = { group: 'orders', quickRetry: [1] };
  expect(() => resolveConsumerRules(misspelt)).toThrow(
    expect.objectContaining({ code: 'OUTBOX_OPTION_INVALID', details: { option: 'quickRetry' } }),
  );
});

test('values at the limits are allowed', () => {
  const most = resolveConsumerRules({
    group: 'x'.repeat(512),
    concurrency: 256,
    keyConcurrency: 256,
    quickRetries: [0, '10s'],
    retry: Array.from({ length: 100 }, (_, n) => (n === 0 ? 0 : '36500 days')),
    exhausted: 'block-key',
    maxKills: 100,
    maxQueued: 10_000_000,
    parkedConcurrency: 256,
    breaker: { keys: 1_000, longestPause: '1d' },
    deadLetters: true,
    window: '36500 days',
    keepFailed: '1h',
    fromBeginning: false,
    transactionTimeout: 0.6,
    startTimeout: '1s',
  });
  expect(most).toMatchObject({
    concurrency: 256,
    keyConcurrency: 256,
    quickRetriesMs: [0, 10_000],
    tries: { blockKey: true, maxKills: 100 },
    maxQueued: 10_000_000,
    parkedConcurrency: 256,
    breaker: { keys: 1_000, longestPauseMs: 86_400_000 },
    failedMs: 3_600_000,
    fromBeginning: false,
    transactionTimeoutMs: 1,
    startTimeoutMs: 1_000,
  });
  expect(most.tries.retryMs.slice(0, 2)).toEqual([0, 36_500 * 86_400_000]);
  expect(most.deadAddressOf?.('orders')).toBe('orders.dead');
  const least = resolveConsumerRules({
    group: 'x',
    batch: { size: 10_000, wait: '1 minute' },
    concurrency: 1,
    maxKills: 1,
    maxQueued: 1,
    breaker: false,
    deadLetters: (address) => `dead/${address}`,
    window: 'forever',
    keepFailed: 'forever',
  });
  expect(least).toMatchObject({
    batchSize: 10_000,
    batchWaitMs: 60_000,
    concurrency: 1,
    tries: { blockKey: false, maxKills: 1 },
    maxQueued: 1,
    breaker: undefined,
    windowMs: Number.POSITIVE_INFINITY,
    failedMs: Number.POSITIVE_INFINITY,
  });
  expect(least.deadAddressOf?.('orders')).toBe('dead/orders');
});
