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
    this.#ended = this.reconnecting.run(() => this.#stay());
  }

  /** Ends the membership, which waits for its current batches. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#ended;
  }

  /** One membership. */
  async #stay(): Promise<{ readonly error: unknown } | undefined> {
    const membership = new RocketmqMembership(this.#connection, this.#subscription);
    const ended = await this.#member(membership).catch((error: unknown) => ({ error }));
    await membership.leave();
    return ended;
  }

  /** Joins, and stays until the routes change or the session stops. */
  async #member(membership: RocketmqMembership): Promise<undefined> {
    await membership.join();
    this.reconnecting.reached();
    do await rest(this.#lookEveryMs, this.#stopping.signal);
    while (!this.#stopping.signal.aborted && !(await membership.isMoved()));
  }
}
