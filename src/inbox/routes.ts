import type { Topic } from '../core/topic.ts';
import type { IncomingMessage } from '../sources/source.ts';
import type { Route } from './route.ts';
import { unreadable } from './unreadable.ts';

/** Finds the handler of a message. */
export class Routes<Tx> {
  readonly #byName: ReadonlyMap<string, Route<Tx>>;
  /** Every topic that the configuration knows, handled here or not. */
  readonly #known: ReadonlySet<string>;

  constructor(routes: readonly Route<Tx>[], known: readonly Topic[]) {
    this.#byName = new Map(routes.map((route) => [route.topic.name, route]));
    this.#known = new Set([...this.#byName.keys(), ...known.map(({ name }) => name)]);
  }

  /**
   * The route of a message: by the topic that it names, else by the only topic of its address.
   *
   * @returns the topic's name alone when that topic has no handler here
   * @throws OutboxError `OUTBOX_MESSAGE_UNREADABLE` when nothing tells its topic, or nobody knows it. It is not passed
   * over: it may be of a topic that a newer sender knows, and what is passed over never comes back.
   */
  find(message: IncomingMessage): Route<Tx> | string {
    const name = message.headers['ce_type'];
    if (name !== undefined) {
      const route = this.#byName.get(name);
      if (route !== undefined) return route;
      if (this.#known.has(name)) return name;
      throw unreadable(message, `its topic "${name}" is not in the configuration`);
    }
    const [only, ...others] = [...this.#byName.values()].filter(
      ({ topic }) => topic.rules.address === message.address,
    );
    if (only !== undefined && others.length === 0) return only;
    throw unreadable(message, 'it has no header ce_type, and several topics use its address');
  }
}
