import { expect, test } from 'vitest';
import { type Retention, resolveRetention } from '../../../src/core/retention.ts';

const hour = 60 * 60_000;
const day = 24 * hour;

test('without options a message is archived after a day and forgotten after 90', () => {
  expect(resolveRetention()).toEqual({
    archiveAfterMs: day,
    archiveFailedAfterMs: null,
    historyMs: 90 * day,
    batchesMs: 7 * day,
    attemptsMs: 90 * day,
    processedMs: 30 * day,
  });
});

test('durations are words or milliseconds, and false means never', () => {
  expect(
    resolveRetention({
      archiveAfter: '1 minute',
      archiveFailedAfter: '30 days',
      history: '1 day',
      batches: hour,
      attempts: '2 days',
      processed: false,
    }),
  ).toEqual({
    archiveAfterMs: 60_000,
    archiveFailedAfterMs: 30 * day,
    historyMs: day,
    batchesMs: hour,
    attemptsMs: 2 * day,
    processedMs: null,
  });
});

test.for<[keyof Retention, Retention]>([
  ['archiveAfter', { archiveAfter: '59 seconds' }],
  ['archiveAfter', { archiveAfter: Number.NaN }],
  ['archiveFailedAfter', { archiveFailedAfter: 0 }],
  ['history', { history: '23 hours' }],
  ['history', { history: '36501 days' }],
  ['batches', { batches: '59 minutes' }],
  ['attempts', { attempts: -1 }],
  ['processed', { processed: '23 hours' }],
])('%s out of its range is refused by name', ([option, retention]) => {
  expect(() => resolveRetention(retention)).toThrow(
    expect.objectContaining({
      code: 'OUTBOX_OPTION_INVALID',
      details: expect.objectContaining({ option: `retention.${option}` }),
    }),
  );
});

test('an unknown option is refused', () => {
  const misspelt = { archiveafter: '1h' } as Retention;
  expect(() => resolveRetention(misspelt)).toThrow(/retention\.archiveafter/);
});
