// oxlint-disable-next-line no-restricted-imports -- it knows the limit of timers
import { setTimeout as delay } from 'node:timers/promises';
import { longestTimerMs } from './timer.ts';

/**
 * Waits for a time in milliseconds, and ends at once, without an error, when the signal fires.
 *
 * @param ms more than 24 days: until the signal fires
 * @param options with `ref: false` the wait does not keep the process alive
 */
export async function rest(ms: number, signal?: AbortSignal, { ref = true } = {}): Promise<void> {
  if (ms > longestTimerMs) return aborted(signal);
  await delay(ms, undefined, { ref, ...(signal !== undefined && { signal }) }).catch(() => undefined);
}

/** Resolves when the signal fires. */
export function aborted(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) resolve();
    else signal?.addEventListener('abort', () => resolve(), { once: true });
  });
}
