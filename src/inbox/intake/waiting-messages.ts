/** Offers that come back no further apart than this are made one. */
export const togetherMs = 20;
/** A message that has not come back for so long has gone elsewhere. */
const leastForgetMs = 60_000;

interface Waiting {
  readonly sinceMs: number;
  /** When it should be offered again. */
  backAtMs: number;
}

/**
 * The messages of one partition that wait for a batch to fill.
 *
 * A source without order offers those whose own rest is over, so an offer may have any part of them.
 */
export class WaitingMessages {
  readonly #forgetMs: number;
  readonly #byId = new Map<string, Waiting>();

  constructor(waitMs: number) {
    this.#forgetMs = Math.max(leastForgetMs, 2 * waitMs);
  }

  /** @returns since when the oldest of these waits; `nowMs` if all are new */
  offered(ids: readonly string[], nowMs: number): number {
    let oldestMs = nowMs;
    for (const id of ids) {
      const known = this.#byId.get(id);
      if (known === undefined) this.#byId.set(id, { sinceMs: nowMs, backAtMs: nowMs });
      else oldestMs = Math.min(oldestMs, known.sinceMs);
    }
    return oldestMs;
  }

  /** Whether others come back about now: they were left in another offer than these. */
  othersCome(ids: readonly string[], nowMs: number): boolean {
    return this.#others(ids).some(({ backAtMs }) => Math.abs(backAtMs - nowMs) <= togetherMs);
  }

  /** @returns the time until these should be offered again: when others are, or after `mostMs` */
  leave(ids: readonly string[], nowMs: number, mostMs: number): number {
    const restsMs = this.#others(ids).map(({ backAtMs }) => backAtMs - nowMs);
    const againMs = Math.min(mostMs, ...restsMs.filter((ms) => ms > togetherMs));
    for (const id of ids) {
      const known = this.#byId.get(id);
      if (known !== undefined) known.backAtMs = nowMs + againMs;
    }
    for (const [id, { backAtMs }] of this.#byId) if (backAtMs < nowMs - this.#forgetMs) this.#byId.delete(id);
    return againMs;
  }

  letGo(ids: readonly string[]): void {
    for (const id of ids) this.#byId.delete(id);
  }

  #others(ids: readonly string[]): readonly Waiting[] {
    if (this.#byId.size === new Set(ids).size) return [];
    const those = new Set(ids);
    return [...this.#byId].flatMap(([id, waiting]) => (those.has(id) ? [] : [waiting]));
  }
}
