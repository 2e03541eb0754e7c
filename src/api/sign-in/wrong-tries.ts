/** What a try counts for, and how many wrong ones it may have within the time. */
export interface Tried {
  readonly what: string;
  readonly most: number;
}

const windowMs = 60_000;
/** How many things are counted at a time, so that nobody fills the memory. */
const mostCounted = 10_000;

/** Counts the wrong tries of the last minute. */
export class WrongTries {
  readonly #at = new Map<string, readonly number[]>();
  readonly #now: () => number;

  /** @param now milliseconds, of a clock that never goes back */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Begins a try. It counts as wrong until it proves right, so that many at once are no way around the limit.
   *
   * @returns nothing if there have been too many; or what to call once it was right
   */
  begin(all: readonly Tried[]): (() => void) | undefined {
    const now = this.#now();
    if (this.#at.size > mostCounted - all.length) this.#forget(now);
    const full = this.#at.size > mostCounted - all.length;
    if (full || all.some(({ what, most }) => this.#recent(what, now).length >= most)) return undefined;
    for (const { what } of all) this.#at.set(what, [...this.#recent(what, now), now]);
    return () => {
      for (const { what } of all) this.#remove(what, now);
    };
  }

  #recent(what: string, now: number): readonly number[] {
    return (this.#at.get(what) ?? []).filter((at) => at > now - windowMs);
  }

  #remove(what: string, tried: number): void {
    const times = [...(this.#at.get(what) ?? [])];
    const index = times.indexOf(tried);
    if (index !== -1) times.splice(index, 1);
    if (times.length === 0) this.#at.delete(what);
    else this.#at.set(what, times);
  }

  #forget(now: number): void {
    for (const what of this.#at.keys()) if (this.#recent(what, now).length === 0) this.#at.delete(what);
  }
}
