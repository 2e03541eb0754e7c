/** A permit; freeing it again has no effect. */
export interface Slot {
  free(): void;
}

/** Limits how many run concurrently; the others wait, first come, first served. Who waits comes before who only asks. */
export class Slots {
  #free: number;
  readonly #waiting = new Set<(slot: Slot) => void>();

  /** @param most 1 or more */
  constructor(most: number) {
    this.#free = most;
  }

  /** How many {@link Slots.tryTake} would give now. */
  get free(): number {
    return this.#free;
  }

  /** @returns `undefined` if none is free */
  tryTake(): Slot | undefined {
    if (this.#free === 0) return undefined;
    this.#free -= 1;
    return this.#slot();
  }

  /** Waits for a slot. @returns `undefined` when the signal fires first */
  async take(signal: AbortSignal): Promise<Slot | undefined> {
    if (signal.aborted) return undefined;
    return this.tryTake() ?? this.#next(signal);
  }

  #next(signal: AbortSignal): Promise<Slot | undefined> {
    return new Promise((resolve) => {
      const give = (slot: Slot | undefined): void => {
        this.#waiting.delete(give);
        signal.removeEventListener('abort', leave);
        resolve(slot);
      };
      const leave = (): void => give(undefined);
      this.#waiting.add(give);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  #slot(): Slot {
    let taken = true;
    return {
      free: () => {
        if (!taken) return;
        taken = false;
        const [first] = this.#waiting;
        if (first === undefined) this.#free += 1;
        else first(this.#slot());
      },
    };
  }
}
