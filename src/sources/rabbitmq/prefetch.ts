/** About as many bytes are held of a queue at once. */
const mostBytes = 64 * 1_024 * 1_024;
/** The server's own limit: the number is two bytes. */
const mostMessages = 65_535;

/**
 * How many messages of a queue a consumer prefetches. The server limits their number only, so what was held when they became
 * too large tells how many fit.
 */
export class Prefetch {
  #most: number;

  /** @param batchSize how many are handled at once; the next batch is prefetched meanwhile */
  constructor(batchSize: number) {
    this.#most = Math.min(2 * Math.max(1, batchSize), mostMessages);
  }

  /** 1 to 65,535. */
  get count(): number {
    return this.#most;
  }

  /**
   * Whether what is held is too large. Then the queue must be opened again, with the smaller {@link count}.
   *
   * @param messages how many are held: a single one is never too large
   */
  isExceeded(messages: number, bytes: number): boolean {
    if (bytes <= mostBytes || messages < 2) return false;
    // Half of what fits, so that it is seldom needed twice.
    this.#most = Math.max(1, Math.min(this.#most - 1, Math.floor((mostBytes / 2 / bytes) * messages)));
    return true;
  }
}
