const most = 100;
/** A transaction that is shorter than the first may be longer; the limit of one is 5 s, unless the consumer says otherwise. */
const paceMs = { quick: 250, slow: 1_000 } as const;

/** How many messages of a parked key one transaction takes: more and more while that goes well. */
export class DrainPace {
  #size = 1;
  /** So many are tried singly, because a transaction of them has failed. */
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
