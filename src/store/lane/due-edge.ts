/** After a walk from the start there is none for at least this multiple of its duration. */
const restsPerWalk = 20;
/** And for at least this time. */
const leastRestMs = 1_000;

/** When a walk that reads what an old snapshot keeps may be repeated: the slower it is, the rarer. */
export function restOfWalk(startedAt: number, endedAt: number, leastMs = leastRestMs): number {
  return endedAt + Math.max(leastMs, restsPerWalk * (endedAt - startedAt));
}

/**
 * Where the walks of one process over due messages begin: every message that was due before is released, or was locked, or is
 * behind a locked one of its key. Or over messages that wait for receipts: none that was overdue before is left.
 *
 * While an old snapshot exists in the database, released messages stay in the index, and each walk from the start would read
 * them all. Nevertheless the first walk, and one every second, begin at the start, because those are left behind;
 * the slower such a walk is, the rarer it becomes.
 */
export class DueEdge {
  readonly #leastMs: number;
  #from: string | null = null;
  #restsUntil = Number.NEGATIVE_INFINITY;

  /** @param leastMs between two walks from the start @defaultValue a second */
  constructor(leastMs = leastRestMs) {
    this.#leastMs = leastMs;
  }

  /** ISO time; `null`: the start. */
  from(now: number): string | null {
    return now >= this.#restsUntil ? null : this.#from;
  }

  /** Records a walk that began at `from`; `next` is where the one after it may begin. */
  walked(from: string | null, next: string, startedAt: number, endedAt: number): void {
    this.#from = next;
    if (from === null) this.#restsUntil = restOfWalk(startedAt, endedAt, this.#leastMs);
  }
}
