import { expect, test } from 'vitest';
import { z } from 'zod';
import { type Confirm, type Topic, topic } from '../../../src/core/topic.ts';
import { resolveConsumerRules } from '../../../src/inbox/consumer-options.ts';
import { assertWindow, type Window } from '../../../src/inbox/window/window.ts';

const hour = 60 * 60_000;
const day = 24 * hour;

const resolveWindow = (window?: Window) =>
  resolveConsumerRules({ group: 'shop', ...(window !== undefined && { window }) }).windowMs;

function confirming(confirm: Confirm): Topic {
  return topic('orders', z.unknown(), { confirm });
}

const week = { group: 'shop', redeliveryPeriodMs: 7 * day, topics: [] };

test("a window is 30 days by default, and 'forever' is infinite", () => {
  expect(resolveWindow(undefined)).toBe(30 * day);
  expect(resolveWindow('1 hour')).toBe(hour);
  expect(resolveWindow(36_500 * day)).toBe(36_500 * day);
  expect(resolveWindow('forever')).toBe(Number.POSITIVE_INFINITY);
});

test('a window as long as the broker keeps messages is enough, a shorter one is not', () => {
  expect(() => assertWindow({ ...week, windowMs: 7 * day })).not.toThrow();
  expect(() => assertWindow({ ...week, windowMs: 7 * day - 1 })).toThrow(
    expect.objectContaining({
      code: 'OUTBOX_WINDOW_TOO_SHORT',
      details: {
        group: 'shop',
        windowMs: 7 * day - 1,
        neededMs: 7 * day,
        redeliveryPeriodMs: 7 * day,
        resendMs: 0,
      },
    }),
  );
});

test('the refusal has both durations and the next step', () => {
  expect(() => assertWindow({ ...week, windowMs: 5 * day })).toThrow(
    'The group "shop" keeps processed ids for 5 days, and a message may arrive again for 7 days.',
  );
  expect(() =>
    assertWindow({ ...week, windowMs: 30 * day, redeliveryPeriodMs: Number.POSITIVE_INFINITY }),
  ).toThrow('keeps processed ids for 30 days, and a message may arrive again forever.');
  expect(() => assertWindow({ ...week, windowMs: day })).toThrow(
    expect.objectContaining({ next: expect.stringContaining('longer window') }),
  );
});

test('only an infinite window fits a broker that keeps messages forever', () => {
  const demand = { ...week, redeliveryPeriodMs: Number.POSITIVE_INFINITY };
  expect(() => assertWindow({ ...demand, windowMs: Number.POSITIVE_INFINITY })).not.toThrow();
  expect(() => assertWindow({ ...demand, windowMs: 36_500 * day })).toThrow(
    expect.objectContaining({ code: 'OUTBOX_WINDOW_TOO_SHORT' }),
  );
});

test('resends for a missing receipt count in addition to the time at the broker', () => {
  const topics = [
    confirming({ group: 'shop', receiptTimeout: ['1 day', '2 days', '3 days'], maxSends: 4 }),
    confirming({ group: 'shop', receiptTimeout: '1 hour' }),
    confirming({ group: 'another', receiptTimeout: '300 days' }),
  ];
  // 1 + 2 + 3 + 3 days.
  expect(() => assertWindow({ ...week, topics, windowMs: 16 * day })).not.toThrow();
  expect(() => assertWindow({ ...week, topics, windowMs: 15 * day })).toThrow(
    'keeps processed ids for 15 days, and a message may arrive again for 16 days, 9 days of them by being sent again.',
  );
});
