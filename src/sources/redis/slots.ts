/** A permit; freeing it again has no effect. */
export interface Slot {
  free(): void;
}

/** Limits how many run concurrently; the others wait, first come, first served. */
export class Slots {
  #free: number;
  readonly #waiting = new Set<() => void>();

  /** @param most 1 or more */
  constructor(most: number) {
    this.#free = most;
  }

  /** @returns `undefined` when the signal fires first */
  async take(signal: AbortSignal): Promise<Slot | undefined> {
    while (this.#free === 0) {
      if (signal.aborted) return undefined;
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          this.#waiting.delete(wake);
          signal.removeEventListener('abort', wake);
          resolve();
        };
        this.#waiting.add(wake);
        signal.addEventListener('abort', wake);
      });
    }
    if (signal.aborted) return undefined;
    this.#free -= 1;
    let taken = true;
    return {
      free: () => {
        if (!taken) return;
        taken = false;
        this.#free += 1;
        for (const wake of this.#waiting) {
          wake();
          break;
        }
      },
    };
  }
}
