import { expect, test } from 'vitest';
import { resolveHandlerRules } from '../../../src/inbox/handler-options.ts';

const refused = (option: string, text: string): unknown =>
  expect.objectContaining({
    code: 'OUTBOX_OPTION_INVALID',
    details: expect.objectContaining({ option, topic: 'orders' }),
    message: expect.stringContaining(text),
  });

test('delays are those of the consumer unless a handler has its own', () => {
  expect(resolveHandlerRules('orders', {})).toEqual({ retryMs: undefined, quickRetriesMs: undefined });
  expect(resolveHandlerRules('orders', { retry: ['1m', 500], quickRetries: [] })).toMatchObject({
    retryMs: [60_000, 500],
    quickRetriesMs: [],
  });
});

test.for<[object, string, string]>([
  [{ retry: ['soon'] }, 'retry[0]', 'of the handler of "orders" must be a duration of 0 ms to 36,500 days'],
  [{ retry: [1, -1] }, 'retry[1]', 'a duration of 0'],
  [{ retry: '5m' }, 'retry', 'a list of at most 100 durations'],
  [{ retry: Array.from({ length: 101 }, () => 1) }, 'retry', 'at most 100'],
  [{ quickRetries: ['11s'] }, 'quickRetries[0]', 'of 0 ms to 10 seconds'],
  [{ retries: [] }, 'retries', 'Unknown option "retries" of the handler'],
])('%j is refused', ([given, option, text]) => {
  expect(() => resolveHandlerRules('orders', given)).toThrow(refused(option, text));
});
