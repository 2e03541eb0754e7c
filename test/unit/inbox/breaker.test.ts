import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { ConsumerEvent } from '../../../src/inbox/consumer-event.ts';
import { Breaker } from '../../../src/inbox/handling/breaker.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const error = new Error('down');
const down = { error, bodies: [] };

function make({ keys = 5, longestPauseMs = 30_000 } = {}) {
  const events: ConsumerEvent[] = [];
  const breaker = new Breaker({ keys, longestPauseMs }, (event) => events.push(event));
  const fail = (...names: string[]) => names.map((key) => breaker.failed('orders', key, down)).at(-1);
  const succeed = (...names: string[]) => {
    for (const key of names) breaker.succeeded('orders', key);
  };
  return { breaker, events, fail, succeed };
}

test('an address pauses when enough different keys have failed', () => {
  const { breaker, events, fail } = make();
  expect(fail('a', 'b', 'c', 'd')).toBe(false);
  expect(breaker.enter('orders')).toBe('go');
  expect(fail('e')).toBe(true);

  expect(breaker.enter('orders')).toBeTypeOf('number');
  expect(breaker.enter('others')).toBe('go');
  expect(events).toMatchObject([
    { type: 'address-paused', address: 'orders', error, failedKeys: 5, keys: 5, probes: 0 },
  ]);
});

test('a key that fails repeatedly counts once', () => {
  const { fail } = make();
  expect(fail(...Array.from({ length: 50 }, () => 'a'), 'b', 'c', 'd')).toBe(false);
});

test('failing keys pause nothing as long as more others succeed', () => {
  const { breaker, fail, succeed } = make();
  for (let n = 0; n < 100; n += 1) {
    expect(fail(`bad${n}`)).toBe(false);
    succeed(`good${n}`, `better${n}`);
  }
  expect(breaker.paused()).toEqual([]);
});

test('a success no longer counts after four times as many keys', () => {
  const { fail, succeed } = make();
  fail('first');
  succeed(...Array.from({ length: 30 }, (_, n) => `good${n}`));
  // Of the last 20 keys, 10 and then 11.
  expect(fail(...Array.from({ length: 10 }, (_, n) => `bad${n}`))).toBe(false);
  expect(fail('bad10')).toBe(true);
});

test('bad messages that are parked and tried again together do not outweigh earlier successes', () => {
  const { breaker, fail, succeed } = make();
  fail('bad0');
  succeed(...Array.from({ length: 20 }, (_, n) => `good${n}`));
  for (let n = 0; n < 20; n += 1) expect(breaker.failed('orders', `bad${n}`, down, true)).toBe(false);
  const { breaker: fresh } = make();
  for (let n = 0; n < 4; n += 1) expect(fresh.failed('orders', `bad${n}`, down, true)).toBe(false);
  expect(fresh.failed('orders', 'bad4', down, true)).toBe(true);
});

test('a key that succeeds after it has failed counts as good', () => {
  const { fail, succeed } = make();
  fail('a', 'b', 'c', 'd');
  succeed('a');
  expect(fail('e')).toBe(false);
  expect(fail('a')).toBe(true);
});

test('failures of five minutes ago no longer count', () => {
  const { fail } = make();
  fail('a', 'b', 'c', 'd');
  vi.advanceTimersByTime(5 * 60_000 + 1);
  expect(fail('e')).toBe(false);
});

test('probes run one at a time, at intervals that grow to the longest', () => {
  const { breaker, fail } = make();
  fail('a', 'b', 'c', 'd', 'e');
  for (const pauseMs of [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]) {
    vi.advanceTimersByTime(pauseMs - 1);
    expect(breaker.enter('orders')).toBeTypeOf('number');
    vi.advanceTimersByTime(1);
    expect(breaker.enter('orders')).toBe('probe');
    expect(breaker.enter('orders')).toBeTypeOf('number');
    breaker.probeFailed('orders', down);
  }
  expect(breaker.paused()).toMatchObject([{ probes: 7 }]);
});

test('the first successful probe ends the pause; messages started before it do not', () => {
  const { breaker, events, fail, succeed } = make();
  fail('a', 'b', 'c', 'd', 'e');
  succeed('f', 'g');
  expect(breaker.isPaused('orders')).toBe(true);
  vi.advanceTimersByTime(1_000);
  expect(breaker.enter('orders')).toBe('probe');
  breaker.succeeded('orders', 'a', 'probe');

  expect(breaker.enter('orders')).toBe('go');
  expect(events.at(-1)).toMatchObject({ type: 'address-resumed', address: 'orders' });
  // As many as before must fail again, but the next pause continues from this one.
  expect(fail('b', 'c', 'd', 'e')).toBe(false);
  expect(fail('f')).toBe(true);
  vi.advanceTimersByTime(1_999);
  expect(breaker.enter('orders')).toBeTypeOf('number');
  vi.advanceTimersByTime(1);
  expect(breaker.enter('orders')).toBe('probe');
});

test('a probe without a result makes room for the next one', () => {
  const { breaker, fail } = make();
  fail('a', 'b', 'c', 'd', 'e');
  vi.advanceTimersByTime(1_000);
  expect(breaker.enter('orders')).toBe('probe');
  breaker.probeLeft('orders');
  vi.advanceTimersByTime(1_000);
  expect(breaker.enter('orders')).toBe('probe');
});

test('waiting messages check again soon enough to notice the end', () => {
  const { breaker, fail } = make();
  fail('a', 'b', 'c', 'd', 'e');
  for (let probe = 0; probe < 6; probe += 1) breaker.probeFailed('orders', down);
  expect(breaker.enter('orders')).toBeLessThanOrEqual(6_000);
});

test('without rules nothing pauses', () => {
  const breaker = new Breaker(undefined, () => undefined);
  for (let n = 0; n < 100; n += 1) expect(breaker.failed('orders', `k${n}`, down)).toBe(false);
  expect(breaker.watches('orders')).toBe(false);
});

test('after five quiet minutes the next pause has the shortest time again', () => {
  const { breaker, fail } = make();
  fail('a', 'b', 'c', 'd', 'e');
  for (let probe = 0; probe < 3; probe += 1) breaker.probeFailed('orders', down);
  breaker.succeeded('orders', 'a', 'probe');
  vi.advanceTimersByTime(5 * 60_000 + 1);
  fail('a', 'b', 'c', 'd', 'e');
  expect(breaker.intervalMs('orders')).toBe(1_000);
});

test('an address is watched from its first failure until a success five minutes after its last', () => {
  const { breaker, fail, succeed } = make();
  succeed('a');
  expect(breaker.watches('orders')).toBe(false);
  fail('a');
  vi.advanceTimersByTime(5 * 60_000);
  succeed('b');
  expect(breaker.watches('orders')).toBe(true);
  vi.advanceTimersByTime(1);
  succeed('b');
  expect(breaker.watches('orders')).toBe(false);
});

test('a pause shows the failure of its last probe', () => {
  const { breaker, events, fail } = make();
  fail('a', 'b', 'c', 'd', 'e');
  expect(breaker.paused()).toMatchObject([{ error, errorText: 'Error: down', probes: 0 }]);
  const other = new Error('still down');
  breaker.probeFailed('orders', { error: other, bodies: [] });

  const shown = { address: 'orders', error: other, errorText: 'Error: still down', probes: 1 };
  expect(breaker.paused()).toMatchObject([shown]);
  expect(events.at(-1)).toMatchObject({ type: 'address-paused', ...shown });
});
