import { setTimeout as delay } from 'node:timers/promises';

/** Waits until the condition is true; what it throws counts as not yet. Asked every `everyMs`. Fails after `withinMs`. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  withinMs = 30_000,
  everyMs = 20,
): Promise<void> {
  const endMs = performance.now() + withinMs;
  let last: unknown = 'it stayed false';
  for (;;) {
    try {
      if (await condition()) return;
    } catch (error) {
      last = error;
    }
    if (performance.now() > endMs)
      throw new Error(`The condition did not come true in ${withinMs} ms.`, { cause: last });
    await delay(everyMs);
  }
}
