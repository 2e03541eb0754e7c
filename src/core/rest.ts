import { setTimeout as delay } from 'node:timers/promises';

/**
 * Waits for a time in milliseconds, and ends at once, without an error, when the signal fires.
 *
 * @param options with `ref: false` the wait does not keep the process alive
 */
export async function rest(ms: number, signal?: AbortSignal, { ref = true } = {}): Promise<void> {
  await delay(ms, undefined, { ref, ...(signal !== undefined && { signal }) }).catch(() => undefined);
}
