/** What a broker knows about consumer groups. Every call rejects if the broker cannot be reached. */
export interface OffsetReader {
  /** By partition, the first offset that the group has not committed; without partitions where it has committed none. */
  committed(group: string, address: string): Promise<ReadonlyMap<number, string>>;
  /** By partition, the offset of the next message; without partitions that hold none. */
  ends(address: string): Promise<ReadonlyMap<number, string>>;
}

/** What a group has passed at an address. */
export interface Passed {
  /** By partition, the first offset that the group has not passed. */
  readonly offsets: ReadonlyMap<number, string>;
  /** The group has passed every message that was noted as published by then, on the database's clock; `undefined`: unknown. */
  readonly before: string | undefined;
  /** A later `before` will be known within seconds, or that the group is behind. */
  readonly soon: boolean;
}

/** Whoever has not passed a mark by then is behind. */
const behindAfterMs = 10_000;

/** A time, and where every message lies that was published by then. */
interface Mark {
  readonly time: string;
  readonly ends: ReadonlyMap<number, string>;
  readonly madeAt: number;
}

/**
 * Until when groups have passed everything, at brokers that do not report where a message lies.
 *
 * A mark notes the time and then the ends of an address. When the offsets of the group reach these ends, it has passed all
 * that was published before that time. The mark stays until then, so that a group in constant traffic is judged, too.
 */
export class PassedTimes {
  readonly #reader: OffsetReader;
  /** Of the database, in a form whose order is that of the times. */
  readonly #clock: () => Promise<string>;
  /** The marks that groups have yet to pass, and the times of the last ones that they have passed. */
  readonly #marks = new Map<string, Mark>();
  readonly #passed = new Map<string, string>();

  constructor(reader: OffsetReader, clock: () => Promise<string>) {
    this.#reader = reader;
    this.#clock = clock;
  }

  async passed(group: string, address: string): Promise<Passed> {
    const name = `${address}/${group}`;
    const now = await this.#clock();
    const times = [this.#marks.get(name)?.time, this.#passed.get(name)];
    // The clock was set back: what is published from now on is not earlier than those times because of it.
    if (times.some((time) => time !== undefined && time > now)) this.#forget(name);
    const mark = await this.#mark(address, now, this.#marks.get(name));
    this.#marks.set(name, mark);
    const offsets = await this.#reader.committed(group, address);
    const reached = hasReached(offsets, mark.ends);
    if (reached) {
      this.#marks.delete(name);
      this.#passed.set(name, mark.time);
    }
    // What was published after a mark that is passed has the next one.
    const soon = reached || performance.now() - mark.madeAt < behindAfterMs;
    return { offsets, before: this.#passed.get(name), soon };
  }

  #forget(name: string): void {
    this.#marks.delete(name);
    this.#passed.delete(name);
  }

  /** @param time read before the ends: what was published by then is part of them */
  async #mark(address: string, time: string, known: Mark | undefined): Promise<Mark> {
    const ends = await this.#reader.ends(address);
    // Ends that lie before those of the mark belong to another log, because the address was created again or emptied.
    if (known !== undefined && hasReached(ends, known.ends)) return known;
    return { time, ends, madeAt: performance.now() };
  }
}

/** Whether these offsets are at or beyond the ends of all partitions. */
export function hasReached(offsets: ReadonlyMap<number, string>, ends: ReadonlyMap<number, string>): boolean {
  return [...ends].every(([partition, end]) => BigInt(offsets.get(partition) ?? -1) >= BigInt(end));
}
