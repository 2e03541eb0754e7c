import { afterEach, expect, test, vi } from 'vitest';
import { orLate } from '../../../src/core/or-late.ts';
import { startTimer } from '../../../src/core/timer.ts';

const thirtyDaysMs = 30 * 86_400_000;

afterEach(() => void vi.useRealTimers());

test('a timer of 30 days does not fire at once, and Node has nothing to warn of', async () => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  let fired = false;
  const timer = startTimer(() => {
    fired = true;
  }, thirtyDaysMs);
  const ordinary = new Promise<string>((resolve) => {
    startTimer(() => resolve('fired'), 20);
  });

  expect(await ordinary).toBe('fired');
  expect(fired).toBe(false);
  expect(warned).not.toHaveBeenCalled();
  clearTimeout(timer);
  warned.mockRestore();
});

test('an answer that is awaited for 30 days is not late at once', async () => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  const answer = new Promise<string>((resolve) => {
    setTimeout(() => resolve('in time'), 20);
  });

  expect(await orLate(answer, thirtyDaysMs)).toBe('in time');
  expect(warned).not.toHaveBeenCalled();
  warned.mockRestore();
});

test('a timer of 30 days waits until it is cleared', () => {
  vi.useFakeTimers();
  const fired = vi.fn<() => void>();
  const timer = startTimer(fired, thirtyDaysMs);

  vi.advanceTimersByTime(3 * thirtyDaysMs);

  expect(fired).not.toHaveBeenCalled();
  expect(vi.getTimerCount()).toBe(1);
  clearTimeout(timer);
  expect(vi.getTimerCount()).toBe(0);
});
