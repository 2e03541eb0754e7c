import { isDeepStrictEqual } from 'node:util';
import type { Subscription } from '../../source.ts';
import { clientLibrary } from '../client/client-library.ts';
import type { RocketmqConnection } from '../client/connection.ts';
import { leastAttempts } from '../client/consumer-groups.ts';
import { isMissing } from '../client/failure.ts';
import { Proxies } from '../client/proxies.ts';
import { queryRoute, type RocketmqRoute } from '../client/route.ts';
import { addressMissing, groupUnfit, serverFailure } from '../client/unavailable.ts';
import { GroupLink } from './group-link.ts';
import { GroupMember } from './group-member.ts';

type Routes = ReadonlyMap<string, RocketmqRoute>;

/** One membership in a group, with its own connections. It is replaced when the routes of its topics change. */
export class RocketmqMembership {
  readonly #proxies: Proxies;
  readonly #subscription: Subscription;
  #links: readonly GroupLink[] = [];
  #routes: Routes = new Map();
  #member: GroupMember | undefined;

  constructor(connection: RocketmqConnection, subscription: Subscription) {
    this.#proxies = new Proxies(connection);
    this.#subscription = subscription;
  }

  /**
   * Joins and begins to receive. Call {@link RocketmqMembership.leave} even if it throws.
   *
   * @throws OutboxError as {@link serverFailure}; `OUTBOX_ADDRESS_MISSING`, `OUTBOX_GROUP_UNFIT`
   */
  async join(): Promise<void> {
    const { addresses, group } = this.#subscription;
    this.#routes = await routesOf(this.#proxies, addresses);
    const brokers = [...this.#routes.values()].flatMap((route) => route.brokers);
    const endpoints = new Set(brokers.map(({ endpoint }) => endpoint));
    this.#links = [...endpoints].map((endpoint) => new GroupLink(this.#proxies, endpoint, group, addresses));
    const settings = await Promise.all(this.#links.map((link) => link.open())).catch((error: unknown) => {
      throw serverFailure(this.#proxies.connection, error);
    });
    const ordered = settings.every((one) => one.ordered);
    if (!ordered) this.#refuseOrder();
    for (const { maxAttempts } of settings) this.#refuseFew(maxAttempts);
    this.#member = new GroupMember({
      proxies: this.#proxies,
      subscription: this.#subscription,
      routes: this.#routes,
      ordered,
    });
  }

  /** Whether the routes of its topics have changed, for example with their brokers or queues; false if no proxy answers. */
  async isMoved(): Promise<boolean> {
    const routes = await routesOf(this.#proxies, this.#subscription.addresses).catch(() => this.#routes);
    return !isDeepStrictEqual(routes, this.#routes);
  }

  /** Stops the member, which waits for its current batches, and closes the connections. */
  async leave(): Promise<void> {
    await this.#member?.stop();
    await Promise.all(this.#links.map((link) => link.close()));
    this.#proxies.close();
  }

  /** A group that is missing has the limit that it would be created with. */
  #refuseFew(maxAttempts: number): void {
    if (maxAttempts === 0 || maxAttempts >= leastAttempts) return;
    const { group } = this.#subscription;
    throw groupUnfit(
      this.#proxies.connection,
      `the consumer group ${group} is missing, or moves messages to %DLQ%${group} after ${maxAttempts} deliveries, where no consumer gets them.`,
    );
  }

  #refuseOrder(): void {
    const { FIFO } = clientLibrary().definitions.MessageType;
    const fifo = [...this.#routes]
      .filter(([, { types }]) => types.includes(FIFO))
      .map(([address]) => address);
    if (fifo.length === 0) return;
    const { group } = this.#subscription;
    throw groupUnfit(
      this.#proxies.connection,
      `the consumer group ${group} is missing or keeps no order, and ${fifo.join(', ')} is of type FIFO.`,
    );
  }
}

/** @throws OutboxError as {@link serverFailure}; `OUTBOX_ADDRESS_MISSING` with all missing addresses */
export async function routesOf(proxies: Proxies, addresses: readonly string[]): Promise<Routes> {
  const routes = new Map<string, RocketmqRoute>();
  const missing: string[] = [];
  for (const address of addresses) {
    try {
      const route = await queryRoute(proxies, address);
      if (route.brokers.length === 0) missing.push(address);
      else routes.set(address, route);
    } catch (error) {
      if (!isMissing(error)) throw serverFailure(proxies.connection, error);
      missing.push(address);
    }
  }
  if (missing.length > 0) throw addressMissing(proxies.connection, missing);
  return routes;
}
