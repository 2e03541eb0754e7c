import { setTimeout as delay } from 'node:timers/promises';

/**
 * Waits for so many milliseconds, and ends at once, without an error, when the signal fires.
 *
 * @param options `ref: false` lets the process end meanwhile
 */
export async function rest(ms: number, signal?: AbortSignal, { ref = true } = {}): Promise<void> {
  await delay(ms, undefined, { ref, ...(signal !== undefined && { signal }) }).catch(() => undefined);
}
