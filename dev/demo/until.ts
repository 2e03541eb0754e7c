import { setTimeout as delay } from 'node:timers/promises';

const lookEveryMs = 20;

/**
 * Waits until `look` returns something other than `undefined` or `false`, and returns it.
 *
 * An error thrown by `look` counts as "not yet", because servers may be down on purpose.
 *
 * @param expected the condition, for the error message
 * @throws when the condition is not met in time, or when the signal aborts
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
