/** A walk from the start is followed by at least this many times its length without one. */
const restsPerWalk = 20;
/** And by at least this. */
const leastRestMs = 1_000;

/**
 * Where one process's walks over due messages begin: every message that was due before is released, or was locked.
 *
 * An old snapshot somewhere in the database keeps what was released in the index for as long as it lives, and each walk
 * from the start would read all of that. The first walk, and one every second, begins at the start all the same, because
 * locked messages stay behind; it becomes rarer as it becomes slower.
 */
export class DueEdge {
  #from: string | null = null;
  #restsUntil = Number.NEGATIVE_INFINITY;

  /** ISO time; null: at the start. */
  from(now: number): string | null {
    return now >= this.#restsUntil ? null : this.#from;
  }

  /** `from` is where the walk that began at `startedAt` started, `next` where the one after it may. */
  walked(from: string | null, next: string, startedAt: number, endedAt: number): void {
    this.#from = next;
    if (from === null)
      this.#restsUntil = endedAt + Math.max(leastRestMs, restsPerWalk * (endedAt - startedAt));
  }
}
