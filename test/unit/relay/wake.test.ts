import { expect, test, vi } from 'vitest';
import { Wake } from '../../../src/relay/wake.ts';

const never = new AbortController().signal;
const longMs = 60_000;

test('a ring ends the wait that is under way', async () => {
  const wake = new Wake();
  const waiting = wake.wait(longMs, never);

  wake.ring();

  await waiting;
});

test('a ring before the wait ends it at once', async () => {
  const wake = new Wake();
  wake.ring();

  await wake.wait(longMs, never);
});

test('a ring that is answered ends no later wait, and the next one does', async () => {
  const wake = new Wake();
  wake.ring();
  expect(wake.rung).toBe(true);

  wake.answer();

  expect(wake.rung).toBe(false);
  const waiting = wake.wait(longMs, never);
  wake.ring();
  await waiting;
  expect(wake.rung).toBe(false);
});

test('many rings end one wait, not two', async () => {
  vi.useFakeTimers();
  try {
    const wake = new Wake();
    wake.ring();
    wake.ring();
    await wake.wait(longMs, never);
    let ended = false;
    const second = (async () => {
      await wake.wait(longMs, never);
      ended = true;
    })();

    await vi.advanceTimersByTimeAsync(longMs - 1);
    expect(ended).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await second;
  } finally {
    vi.useRealTimers();
  }
});

test('the signal ends a wait, before it and during it', async () => {
  const wake = new Wake();
  const stop = new AbortController();
  const waiting = wake.wait(longMs, stop.signal);

  stop.abort();

  await waiting;
  await wake.wait(longMs, stop.signal);
});

test('a wait leaves neither timer nor listener behind', async () => {
  vi.useFakeTimers();
  try {
    const wake = new Wake();
    const stop = new AbortController();
    const removed = vi.spyOn(stop.signal, 'removeEventListener');
    const waiting = wake.wait(longMs, stop.signal);
    wake.ring();
    await waiting;

    expect(vi.getTimerCount()).toBe(0);
    expect(removed).toHaveBeenCalledOnce();
  } finally {
    vi.useRealTimers();
  }
});
