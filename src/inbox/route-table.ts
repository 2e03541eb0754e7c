import type { IncomingMessage } from '../brokers/source.ts';
import type { Topic } from '../core/topic.ts';
import { unreadable } from './reading/unreadable.ts';
import type { Route } from './route.ts';

/** What happens to a message of an unknown topic: it is kept for a person, or skipped. */
export type UnknownTopics = 'keep' | 'ignore';

/** Finds the handler of a message. */
export class RouteTable<Tx> {
  /** Maps a topic of the configuration without a handler here to its name. */
  readonly #byName: ReadonlyMap<string, Route<Tx> | string>;
  readonly #byAddress: ReadonlyMap<string, readonly (Route<Tx> | string)[]>;

  readonly #unknown: UnknownTopics;

  constructor(routes: readonly Route<Tx>[], known: readonly Topic[], unknown: UnknownTopics = 'keep') {
    this.#unknown = unknown;
    const handled = new Map(routes.map((route) => [route.topic.name, route]));
    const topics = new Map(
      [...known, ...routes.map(({ topic }) => topic)].map((topic) => [topic.name, topic]),
    );
    // Another broker may use the same address for something else.
    const transports = new Set(routes.map(({ topic }) => topic.rules.transport));
    const byName = new Map<string, Route<Tx> | string>();
    const byAddress = new Map<string, (Route<Tx> | string)[]>();
    for (const { name, rules } of topics.values()) {
      const target = handled.get(name) ?? name;
      byName.set(name, target);
      if (!transports.has(rules.transport)) continue;
      byAddress.set(rules.address, [...(byAddress.get(rules.address) ?? []), target]);
    }
    this.#byName = byName;
    this.#byAddress = byAddress;
  }

  /**
   * The route of a message: that of the topic it names, else of the only topic of its address.
   *
   * @returns only the topic's name if the topic has no handler here
   * @throws OutboxError `OUTBOX_MESSAGE_UNREADABLE`, reason `unknown-topic`, if it names no topic or an unknown one. Such a
   * message is skipped only with `unknown: 'ignore'`: it may be of a topic that a newer sender knows, and a skipped message
   * never comes back.
   */
  find(message: IncomingMessage): Route<Tx> | string {
    const name = message.header('ce_type');
    if (name !== undefined) {
      const named = this.#byName.get(name);
      if (named !== undefined) return named;
      if (this.#unknown === 'ignore') return name;
      throw unreadable(message, 'unknown-topic', `its topic "${name}" is not in the configuration`);
    }
    const [only, ...others] = this.#byAddress.get(message.address) ?? [];
    if (only !== undefined && others.length === 0) return only;
    if (this.#unknown === 'ignore') return message.address;
    const why = only === undefined ? 'no topic uses its address' : 'several topics use its address';
    throw unreadable(message, 'unknown-topic', `it has no header ce_type, and ${why}`);
  }
}
