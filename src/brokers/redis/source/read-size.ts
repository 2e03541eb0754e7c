/** The first read, before anything is known of the size of entries or the speed of the network. */
const firstCount = 32;
/** About as many bytes are asked for at once. A single larger entry is read nevertheless. */
const mostBytes = 8 * 1_024 * 1_024;
/** A read that takes a larger part of its time than this would be late if it were twice as large. */
const growsBelow = 1 / 4;

/** What a read has brought. */
export interface ReadResult {
  /** How many entries were asked for. */
  readonly asked: number;
  readonly entries: number;
  readonly bytes: number;
  readonly tookMs: number;
  /** The longest that it may have taken. */
  readonly withinMs: number;
}

/**
 * How many entries a reader asks for at once: few at first, twice as many after each reply that was full and fast, half as
 * many after one that came too late, and never more than about 8 MiB by the size of the last ones.
 */
export class ReadSize {
  #most = firstCount;
  /** The mean size of an entry; it follows larger ones at once, smaller ones slowly. */
  #bytesEach = 0;

  /** @returns 1 or more, and not more than `wanted` unless that is less than 1 */
  next(wanted: number): number {
    const byBytes = this.#bytesEach === 0 ? wanted : Math.floor(mostBytes / this.#bytesEach);
    return Math.max(1, Math.min(wanted, this.#most, byBytes));
  }

  arrived({ asked, bytes, entries, tookMs, withinMs }: ReadResult): void {
    if (entries === 0) return;
    const mean = bytes / entries;
    this.#bytesEach = mean > this.#bytesEach ? mean : (mean + this.#bytesEach) / 2;
    const full = entries >= asked;
    if (full && asked === this.#most && tookMs < withinMs * growsBelow) this.#most *= 2;
  }

  /** Must be called when the reply to a read came too late. */
  late(asked: number): void {
    this.#most = Math.max(1, Math.floor(asked / 2));
  }
}
