import { rest } from '../../../core/rest.ts';
import { Reconnecting } from '../../reconnecting.ts';
import type { Subscription } from '../../source.ts';
import type { RocketmqConnection } from '../client/connection.ts';
import { RocketmqMembership } from './membership.ts';

/** One membership after another, until stopped: a new one when the routes of its topics change, or when a join fails. */
export class RocketmqSession {
  readonly reconnecting: Reconnecting;
  readonly #connection: RocketmqConnection;
  readonly #subscription: Subscription;
  readonly #lookEveryMs: number;
  readonly #stopping = new AbortController();
  readonly #ended: Promise<void>;

  constructor(connection: RocketmqConnection, subscription: Subscription, lookEveryMs: number) {
    this.#connection = connection;
    this.#subscription = subscription;
    this.#lookEveryMs = lookEveryMs;
    this.reconnecting = new Reconnecting(subscription, this.#stopping.signal);
    this.#ended = this.#run();
  }

  /** Ends the membership, which waits for its current batches. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#ended;
  }

  async #run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const membership = new RocketmqMembership(this.#connection, this.#subscription);
      const failed = await this.#member(membership).catch((error: unknown) => ({ error }));
      await membership.leave();
      if (failed !== undefined && !this.#stopping.signal.aborted) await this.reconnecting.pause(failed.error);
    }
  }

  /** Joins, and stays until the routes change or the session stops. */
  async #member(membership: RocketmqMembership): Promise<undefined> {
    await membership.join();
    this.reconnecting.reached();
    do await rest(this.#lookEveryMs, this.#stopping.signal);
    while (!this.#stopping.signal.aborted && !(await membership.isMoved()));
  }
}
