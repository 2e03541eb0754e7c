import { createHash } from 'node:crypto';
import { clientLibrary } from '../client/client-library.ts';
import type { Proxies } from '../client/proxies.ts';
import { queryRoute } from '../client/route.ts';

const freshMs = 30_000;

/** How to send to one topic. */
export interface SendRoute {
  /** Whether it accepts FIFO messages, which have a message group; otherwise it accepts NORMAL ones. */
  readonly fifo: boolean;
  /** The proxy for a message: always the same for one group, otherwise round robin. */
  endpointOf(group: string | undefined): string;
}

/** The topic exists, but accepts neither FIFO nor NORMAL messages, or has no queue for them. */
export class UnfitTopic extends Error {
  override readonly name = 'UnfitTopic';
}

/** The routes of topics, cached for a while; every probe queries them. */
export class Routes {
  readonly #proxies: Proxies;
  readonly #known = new Map<string, { readonly route: SendRoute; readonly untilMs: number }>();

  constructor(proxies: Proxies) {
    this.#proxies = proxies;
  }

  /** @throws NoAnswer, RefusedRequest, UnfitTopic */
  async of(topic: string): Promise<SendRoute> {
    const known = this.#known.get(topic);
    if (known !== undefined && known.untilMs > performance.now()) return known.route;
    return this.ask(topic);
  }

  /** Queries the route, ignoring the cache. @throws as {@link Routes.of} */
  async ask(topic: string): Promise<SendRoute> {
    this.#known.delete(topic);
    const { brokers, types } = await queryRoute(this.#proxies, topic);
    const { FIFO, NORMAL } = clientLibrary().definitions.MessageType;
    const endpoints = [...new Set(brokers.map(({ endpoint }) => endpoint))];
    const [first] = endpoints;
    if (first === undefined) throw new UnfitTopic(`The topic ${topic} has no queue that takes messages.`);
    if (!types.includes(FIFO) && !types.includes(NORMAL))
      throw new UnfitTopic(
        `The topic ${topic} takes ${typeNames(types)} messages: create it with message.type=FIFO, or NORMAL.`,
      );
    let turn = 0;
    const route: SendRoute = {
      fifo: types.includes(FIFO),
      endpointOf(group) {
        turn += 1;
        return endpoints[(group === undefined ? turn : numberOf(group)) % endpoints.length] ?? first;
      },
    };
    this.#known.set(topic, { route, untilMs: performance.now() + freshMs });
    return route;
  }
}

function numberOf(group: string): number {
  return createHash('sha256').update(group).digest().readUInt32BE(0);
}

function typeNames(types: readonly number[]): string {
  const names = Object.entries(clientLibrary().definitions.MessageType);
  const known = types.map((type) => names.find(([, number]) => Number(number) === type)?.[0] ?? String(type));
  return known.join(', ') || 'no';
}
