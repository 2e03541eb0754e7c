import { pauseAfter } from '../../../core/pause-after.ts';
import type { Hold } from '../../transport.ts';

/** This many consecutive unclear answers cause no pause: a broker restart causes two or three. */
const free = 3;
const restMs = { first: 1_000, most: 60_000 } as const;

interface Doubt {
  readonly count: number;
  readonly reason: string;
  readonly restsUntilMs: number;
}

/**
 * Partitions whose last requests had no clear answer.
 *
 * Each such request may have left a copy in the log, and metadata cannot tell whether the next one will do better: a
 * partition whose replicas lag has a leader all the while. So it rests between requests, for longer each time, until one
 * is acknowledged. An outage of ten minutes then leaves some fifteen copies of what was being sent, instead of a hundred.
 */
export class Doubts {
  readonly #partitions = new Map<string, Doubt>();
  readonly #now: () => number;

  /** @param now milliseconds of a clock that never goes back */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Tells that a request had no clear answer. */
  add(address: string, partition: number, reason: string): void {
    const name = nameOf(address, partition);
    const count = (this.#partitions.get(name)?.count ?? 0) + 1;
    const rest = count <= free ? 0 : pauseAfter(count - free, restMs);
    this.#partitions.set(name, { count, reason, restsUntilMs: this.#now() + rest });
  }

  /** Tells that a request was acknowledged, or that its messages were refused. */
  clear(address: string, partition: number): void {
    this.#partitions.delete(nameOf(address, partition));
  }

  /** The hold of a partition that rests now. */
  restOf(address: string, partition: number): Hold | undefined {
    const doubt = this.#partitions.get(nameOf(address, partition));
    if (doubt === undefined || doubt.restsUntilMs <= this.#now()) return undefined;
    const { count, reason, restsUntilMs } = doubt;
    const seconds = Math.ceil((restsUntilMs - this.#now()) / 1_000);
    return {
      scope: 'topic',
      reason: `Partition ${partition} of topic ${address} left the outcome of ${count} requests in a row unknown; the next one is sent in ${seconds} s: ${reason}`,
    };
  }

  /** The hold of any partition of a topic that rests now. */
  restIn(address: string): Hold | undefined {
    for (const name of this.#partitions.keys()) {
      const end = name.lastIndexOf('/');
      const rest =
        name.slice(0, end) === address ? this.restOf(address, Number(name.slice(end + 1))) : undefined;
      if (rest !== undefined) return rest;
    }
    return undefined;
  }
}

function nameOf(address: string, partition: number): string {
  return `${address}/${partition}`;
}
