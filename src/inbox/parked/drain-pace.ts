const most = 100;
/** Transactions faster than `quick` grow, those slower than `slow` shrink: by default a transaction may take 5 s. */
const paceMs = { quick: 250, slow: 1_000 } as const;

/** How many messages of a parked key one transaction takes: more and more while they succeed. */
export class DrainPace {
  #size = 1;
  /** Messages left to be tried one by one, because a transaction of them has failed. */
  #singly = 0;

  get size(): number {
    return this.#singly > 0 ? 1 : this.#size;
  }

  done(count: number, ms: number): void {
    if (this.#singly > 0) this.#singly -= count;
    else if (ms > paceMs.slow) this.#size = Math.max(1, Math.floor(count / 2));
    else if (ms < paceMs.quick && count >= this.#size) this.#size = Math.min(2 * count, most);
  }

  failed(count: number): void {
    this.#singly = count;
    this.#size = Math.max(1, Math.floor(count / 2));
  }
}
