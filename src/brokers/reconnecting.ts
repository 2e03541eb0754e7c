import { type Pauses, pauseAfter } from '../core/pause-after.ts';
import { rest } from '../core/rest.ts';
import type { Subscription } from './source.ts';

const usualMs: Pauses = { first: 200, most: 10_000 };
/** A caller may be waiting for the first join, and what is missing may have just been created. */
const atStartMs: Pauses = { first: 200, most: 2_000 };

/** One connection of a source after another until it stops, with pauses that are reported as `disconnected`. */
export class Reconnecting {
  /** Resolves at the first join. */
  readonly joined: Promise<void>;
  readonly #subscription: Pick<Subscription, 'disconnected'>;
  readonly #stopping: AbortSignal;
  #tellJoined: () => void = () => undefined;
  #everJoined = false;
  #failures = 0;
  #lastError: unknown;

  constructor(subscription: Pick<Subscription, 'disconnected'>, stopping: AbortSignal) {
    this.#subscription = subscription;
    this.#stopping = stopping;
    this.joined = new Promise((resolve) => {
      this.#tellJoined = resolve;
    });
  }

  get everJoined(): boolean {
    return this.#everJoined;
  }

  /** Why the last connection ended. */
  get lastError(): unknown {
    return this.#lastError;
  }

  /** Must be called when a connection can be used. */
  reached(): void {
    this.#everJoined = true;
    this.#failures = 0;
    this.#tellJoined();
  }

  /**
   * Connects again and again until the stop.
   *
   * @param connect resolves when a connection has ended: with its error, or with `undefined` if the next one need not wait;
   *   must not reject
   */
  async run(connect: () => Promise<{ readonly error: unknown } | undefined>): Promise<void> {
    while (!this.#stopping.aborted) {
      const ended = await connect();
      if (ended !== undefined && !this.#stopping.aborted) await this.#pause(ended.error);
    }
  }

  /** Reports why a connection has ended, and waits until it is time for the next one, or for the stop. */
  async #pause(reason: unknown): Promise<void> {
    this.#lastError = reason;
    this.#failures += 1;
    const ms = pauseAfter(this.#failures, this.#everJoined ? usualMs : atStartMs);
    this.#subscription.disconnected(reason, ms);
    await rest(ms, this.#stopping);
  }
}
