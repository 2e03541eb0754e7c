/** About as many bytes are held of a queue at once. */
const mostBytes = 64 * 1_024 * 1_024;
/** The server's own limit: the number is two bytes. */
const mostMessages = 65_535;

/**
 * How many messages of a queue a consumer prefetches. The server limits their number only, so what was held when they became
 * too large shows how many fit.
 */
export class Prefetch {
  readonly #wanted: number;
  #most: number;

  /** @param batchSize how many are handled at once; the next batch is prefetched meanwhile */
  constructor(batchSize: number) {
    this.#wanted = Math.min(2 * Math.max(1, batchSize), mostMessages);
    this.#most = this.#wanted;
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
    this.#most = Math.max(1, Math.min(this.#most - 1, fitting(messages, bytes)));
    return true;
  }

  /**
   * Whether far more than {@link count} would fit, by the size of these messages. Then the queue should be opened again, with
   * the larger count, as soon as nothing is held.
   *
   * @param messages how many were held at once: a few do not say how large the next ones are
   */
  isTooSmall(messages: number, bytes: number): boolean {
    const fit = Math.min(this.#wanted, fitting(messages, bytes));
    if (messages < this.#most / 2 || fit < 2 * this.#most) return false;
    this.#most = fit;
    return true;
  }
}

/** Half of what fits, so that it is seldom too many. */
function fitting(messages: number, bytes: number): number {
  return Math.floor((mostBytes / 2 / Math.max(1, bytes)) * messages);
}
