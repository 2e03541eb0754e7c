/** Bounds how many parked keys one consumer drains at a time. Who waits has its turn before anybody who only asks. */
export class DrainSlots {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  /** @param slots 1 or more */
  constructor(slots: number) {
    this.#free = slots;
  }

  /** Number of slots that {@link DrainSlots.tryTake} would give away now. */
  get free(): number {
    return this.#free;
  }

  /** Takes a slot if one is free. */
  tryTake(): boolean {
    if (this.#free === 0) return false;
    this.#free -= 1;
    return true;
  }

  /** Waits for a slot. @returns false if the signal fired first: then none was taken */
  async take(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    if (this.tryTake()) return true;
    return new Promise((resolve) => {
      const mine = (): void => {
        signal.removeEventListener('abort', leave);
        resolve(true);
      };
      const leave = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(mine), 1);
        resolve(false);
      };
      this.#waiting.push(mine);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  /** Gives a slot back, or on to who waits. */
  give(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}
