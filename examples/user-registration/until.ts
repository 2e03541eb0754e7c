import { setTimeout as delay } from 'node:timers/promises';

/** Waits for a condition. @throws after 60 s */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + 60_000;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`In vain: ${what}`);
    await delay(25);
  }
}
