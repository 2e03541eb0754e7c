import { setTimeout as delay } from 'node:timers/promises';

const lookEveryMs = 20;

/**
 * Waits until `look` answers something other than `undefined` and `false`, and answers it.
 *
 * What `look` throws counts as not yet, for servers that are down on purpose.
 *
 * @param expected what should come true, for the error
 * @throws when it did not within the time, or when the signal fired
 */
export async function until<Result>(
  expected: string,
  look: () => Promise<Result | undefined | false> | Result | undefined | false,
  { withinMs, signal }: { readonly withinMs: number; readonly signal: AbortSignal },
): Promise<Result> {
  const endMs = performance.now() + withinMs;
  let last: unknown;
  for (;;) {
    signal.throwIfAborted();
    try {
      const found = await look();
      if (found !== undefined && found !== false) return found;
      last = undefined;
    } catch (error) {
      last = error;
    }
    if (performance.now() > endMs) {
      const why = last instanceof Error ? ` The last look failed: ${last.message}` : '';
      throw new Error(`Expected within ${withinMs / 1_000} s, but it did not come true: ${expected}.${why}`, {
        cause: last,
      });
    }
    await delay(lookEveryMs);
  }
}
