import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Wake } from '../../../src/core/wake.ts';
import { fakeTime, pass, realTime, soFar } from '../../support/fixtures/fake-time.ts';

beforeEach(fakeTime);
afterEach(realTime);

const never = new AbortController().signal;
const longMs = 60_000;

test('a ring ends the wait in progress, each time', async () => {
  const wake = new Wake();
  for (let time = 0; time < 3; time += 1) {
    const waiting = soFar(wake.wait(longMs, never));
    await pass(longMs - 1);
    expect(waiting.state).toBe('open');
    wake.ring();
    await pass(0);
    expect(waiting.state).toBe('resolved');
  }
});

test('a ring before the wait ends it at once', async () => {
  const wake = new Wake();
  wake.ring();
  const waiting = soFar(wake.wait(longMs, never));
  await pass(0);
  expect(waiting.state).toBe('resolved');
});

test('a wait of no time ends at once', async () => {
  const waits = [0, -5].map((ms) => soFar(new Wake().wait(ms, never)));
  await Promise.resolve();
  await Promise.resolve();
  expect(waits.map(({ state }) => state)).toEqual(['resolved', 'resolved']);
});

test('an answered ring ends no later wait, and the next ring does', async () => {
  const wake = new Wake();
  wake.ring();
  expect(wake.rung).toBe(true);
  wake.answer();
  expect(wake.rung).toBe(false);
  const waiting = soFar(wake.wait(longMs, never));
  await pass(0);
  expect(waiting.state).toBe('open');
  wake.ring();
  await pass(0);
  expect(waiting.state).toBe('resolved');
  expect(wake.rung).toBe(false);
});

test('many rings end one wait, not two', async () => {
  const wake = new Wake();
  wake.ring();
  wake.ring();
  const first = soFar(wake.wait(longMs, never));
  await pass(0);
  expect(first.state).toBe('resolved');
  const second = soFar(wake.wait(longMs, never));
  await pass(longMs - 1);
  expect(second.state).toBe('open');
  await pass(1);
  expect(second.state).toBe('resolved');
});

test('the signal ends a wait, before it and during it', async () => {
  const wake = new Wake();
  const stop = new AbortController();
  const during = soFar(wake.wait(longMs, stop.signal));
  stop.abort();
  await pass(0);
  expect(during.state).toBe('resolved');
  const before = soFar(wake.wait(longMs, stop.signal));
  await pass(0);
  expect(before.state).toBe('resolved');
});

test('a wait leaves neither timer nor listener behind', async () => {
  const wake = new Wake();
  const stop = new AbortController();
  const removed = vi.spyOn(stop.signal, 'removeEventListener');
  const waiting = soFar(wake.wait(longMs, stop.signal));
  wake.ring();
  await pass(0);
  expect(waiting.state).toBe('resolved');
  expect(vi.getTimerCount()).toBe(0);
  expect(removed).toHaveBeenCalledOnce();
});
