import { pauseAfter } from '../core/pause-after.ts';
import type { Hold } from './transport.ts';

const restMs = { first: 500, most: 60_000 } as const;

interface Rest {
  readonly count: number;
  readonly reason: string;
  readonly untilMs: number;
}

/**
 * Backoff for addresses whose last messages got no clear answer.
 *
 * Each try may have stored its messages, and a probe may succeed all the while: the route of a topic is still known, an
 * exchange is still there. So such an address rests between tries, longer each time, until a message is acknowledged: an outage then
 * causes few duplicates.
 */
export class Rests {
  readonly #addresses = new Map<string, Rest>();
  readonly #now: () => number;

  /** @param now milliseconds of a monotonic clock */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Records that messages of this address got no clear answer. */
  add(address: string, reason: string): void {
    const count = (this.#addresses.get(address)?.count ?? 0) + 1;
    const untilMs = this.#now() + pauseAfter(count, restMs);
    this.#addresses.set(address, { count, reason, untilMs });
  }

  /** Records that a message of this address was acknowledged. */
  clear(address: string): void {
    this.#addresses.delete(address);
  }

  /** The hold of an address, if it rests now. */
  restOf(address: string): Hold | undefined {
    const rest = this.#addresses.get(address);
    if (rest === undefined || rest.untilMs <= this.#now()) return undefined;
    const seconds = Math.ceil((rest.untilMs - this.#now()) / 1_000);
    return {
      scope: 'topic',
      reason: `${address} left messages in doubt ${rest.count} times in a row; the next is sent in ${seconds} s: ${rest.reason}`,
    };
  }
}
