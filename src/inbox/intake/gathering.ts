import type { IncomingBatch, Partition } from '../../brokers/source.ts';
import { togetherMs, WaitingMessages } from './waiting-messages.ts';

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
  /** After which time the others are to be offered again; 0 if there are none, or at once. */
  readonly againMs: number;
  /** How long to keep this offer in hand, so that what comes back meanwhile is in the next one. @defaultValue 0 */
  readonly holdMs?: number;
}

/** How often waiting messages are offered again: often enough to notice a full batch, without constant fetching. */
const looksPerWait = 4;
const leastLookMs = 100;

/**
 * Leaves messages that do not fill a batch to a later offer, until one of them has waited long enough.
 *
 * They stay with the source, neither acknowledged nor in hand: a consumer that dies or loses the partition meanwhile has
 * begun nothing. What was let go once, and is offered again because it failed or there was no time for it, does not wait again.
 */
export class Gathering {
  readonly #rules: GatheringRules;
  readonly #now: () => number;
  readonly #waiting = new Map<string, WaitingMessages>();
  /** The messages of each partition that were let go last. */
  readonly #gone = new Map<string, ReadonlySet<string>>();

  /** @param now milliseconds of a monotonic clock */
  constructor(rules: GatheringRules, now: () => number = () => performance.now()) {
    this.#rules = rules;
    this.#now = now;
  }

  /** @param ids of the messages offered, in their order */
  gather(batch: Partition & Pick<IncomingBatch, 'cut'>, ids: readonly string[]): Gathered {
    const name = nameOf(batch);
    const { size, waitMs } = this.#rules;
    const gone = this.#gone.get(name);
    const again = gone === undefined ? 0 : ids.findLastIndex((id) => gone.has(id)) + 1;
    const full = ids.length - ((ids.length - again) % size);
    const rest = ids.slice(full);
    const waiting = this.#waitingIn(name);
    const nowMs = this.#now();
    const leftMs = rest.length === 0 ? 0 : waitMs - (nowMs - waiting.offered(rest, nowMs));
    const cut = batch.cut === true;
    if (!cut && full === 0 && waiting.othersCome(ids, nowMs)) {
      waiting.leave(ids, nowMs, togetherMs);
      return { now: 0, againMs: 0, holdMs: togetherMs };
    }
    // A later offer of these alone would be no larger, but one that begins behind the full batches is.
    const now = leftMs > 0 && !(cut && full === 0) ? full : ids.length;
    waiting.letGo(ids.slice(0, now));
    if (now > 0) this.#gone.set(name, new Set(ids.slice(0, now)));
    if (now === ids.length || cut) return { now, againMs: 0 };
    const lookMs = Math.max(leastLookMs, waitMs / looksPerWait);
    return { now, againMs: waiting.leave(rest, nowMs, Math.min(leftMs, lookMs)) };
  }

  /** Forgets partitions that are no longer assigned. */
  keepOnly(partitions: readonly Partition[]): void {
    const mine = new Set(partitions.map(nameOf));
    for (const map of [this.#waiting, this.#gone])
      for (const name of map.keys()) if (!mine.has(name)) map.delete(name);
  }

  #waitingIn(name: string): WaitingMessages {
    const known = this.#waiting.get(name);
    if (known !== undefined) return known;
    const made = new WaitingMessages(this.#rules.waitMs);
    this.#waiting.set(name, made);
    return made;
  }
}

function nameOf({ address, partition }: Partition): string {
  return `${address}/${partition}`;
}
