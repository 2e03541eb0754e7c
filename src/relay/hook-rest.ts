import { pauseAfter } from '../core/pause-after.ts';

/** Pauses after failures of a hook, in milliseconds. */
export const hookPauses = { first: 1_000, most: 5 * 60_000 };

/** Calls in a row that may fail before all of them rest: their messages are hardly the cause then. */
const mostInARow = 10;

/**
 * Rests of a hook that rejects every call, such as one whose mail server is away: twice as long after each further failure.
 *
 * Rests of single calls do not limit how often the hook is called, because there may be any number of them.
 */
export class HookRest {
  #inARow = 0;
  #untilMs = 0;

  /** Milliseconds until the next call; 0: now. */
  get leftMs(): number {
    return Math.max(0, this.#untilMs - performance.now());
  }

  failed(): void {
    this.#inARow += 1;
    if (this.#inARow < mostInARow) return;
    this.#untilMs = performance.now() + pauseAfter(this.#inARow - mostInARow + 1, hookPauses);
  }

  succeeded(): void {
    this.#inARow = 0;
    this.#untilMs = 0;
  }
}
