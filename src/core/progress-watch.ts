const lookEveryMs = 1_000;

/** Tells work that makes no progress for a time to end, as the watchdog of an activity does. */
export class ProgressWatch {
  readonly #stuck = new AbortController();
  readonly #looking: NodeJS.Timeout;
  #progressAt = performance.now();

  /** @param withinMs the longest time without progress, in milliseconds; looked at once a second */
  constructor(withinMs: number) {
    this.#looking = setInterval(() => {
      if (performance.now() - this.#progressAt >= withinMs) this.#stuck.abort();
    }, lookEveryMs);
  }

  /** Fires when there was no progress for too long. */
  get signal(): AbortSignal {
    return this.#stuck.signal;
  }

  readonly progress = (): void => {
    this.#progressAt = performance.now();
  };

  /** Ends the watch. Must be called, or it runs forever. */
  end(): void {
    clearInterval(this.#looking);
  }
}
