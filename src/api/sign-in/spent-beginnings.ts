import { beginningSeconds } from './beginning.ts';

/** More at a time are of strangers, who have to make new ones then. */
const most = 10_000;

/** Beginnings that this process has used: each asks the provider once, so that nobody tries codes at it with one of them. */
export class SpentBeginnings {
  /** Until when each can be opened, by its state; the oldest first. */
  readonly #until = new Map<string, number>();

  /** @returns false: it was spent before */
  spend(state: string, now = performance.now()): boolean {
    for (const [old, until] of this.#until) {
      if (until > now && this.#until.size < most) break;
      this.#until.delete(old);
    }
    if (this.#until.has(state)) return false;
    this.#until.set(state, now + beginningSeconds * 1_000);
    return true;
  }
}
