import type { Partition } from '../../brokers/source.ts';

/** How many transactions a batch consumer fills, and for how long it waits for one. */
export interface GatheringRules {
  /** Messages of a full batch. */
  readonly size: number;
  /** The longest time that a message waits for others. */
  readonly waitMs: number;
}

/** What is to be done with the messages of an offer. */
export interface Gathered {
  /** How many of them, from the first on, are handled now. */
  readonly now: number;
  /** When the others are to be offered again; 0: there are none. */
  readonly againMs: number;
}

/** A full batch is noticed within a fraction of the wait, but the messages are not fetched again all the time. */
const looksPerWait = 4;
const leastLookMs = 100;

/**
 * Leaves messages that do not fill a batch to a later offer, until the first of them has waited long enough.
 *
 * They stay with the source, neither acknowledged nor in hand: a consumer that dies or loses the partition meanwhile has
 * begun nothing. What was let go once, and is offered again because it failed or there was no time for it, does not wait again.
 */
export class Gathering {
  readonly #rules: GatheringRules;
  readonly #now: () => number;
  /** The first message that waits in each partition, and since when. */
  readonly #waiting = new Map<string, { readonly first: string; readonly sinceMs: number }>();
  /** The messages of each partition that were let go last. */
  readonly #gone = new Map<string, ReadonlySet<string>>();

  /** @param now milliseconds of a monotonic clock */
  constructor(rules: GatheringRules, now: () => number = () => performance.now()) {
    this.#rules = rules;
    this.#now = now;
  }

  /** @param ids of the messages offered, in their order */
  gather(partition: Partition, ids: readonly string[]): Gathered {
    const name = nameOf(partition);
    const { size, waitMs } = this.#rules;
    const gone = this.#gone.get(name);
    const again = gone === undefined ? 0 : ids.findLastIndex((id) => gone.has(id)) + 1;
    const full = ids.length - ((ids.length - again) % size);
    const first = ids[full];
    const leftMs = first === undefined ? 0 : waitMs - this.#waitedMs(name, first);
    const now = leftMs > 0 ? full : ids.length;
    if (now === ids.length) this.#waiting.delete(name);
    if (now > 0) this.#gone.set(name, new Set(ids.slice(0, now)));
    const lookMs = Math.max(leastLookMs, waitMs / looksPerWait);
    return { now, againMs: now === ids.length ? 0 : Math.min(leftMs, lookMs) };
  }

  /** Forgets partitions that are no longer assigned. */
  keepOnly(partitions: readonly Partition[]): void {
    const mine = new Set(partitions.map(nameOf));
    for (const map of [this.#waiting, this.#gone])
      for (const name of map.keys()) if (!mine.has(name)) map.delete(name);
  }

  #waitedMs(name: string, first: string): number {
    const waiting = this.#waiting.get(name);
    if (waiting?.first === first) return this.#now() - waiting.sinceMs;
    this.#waiting.set(name, { first, sinceMs: this.#now() });
    return 0;
  }
}

function nameOf({ address, partition }: Partition): string {
  return `${address}/${partition}`;
}
