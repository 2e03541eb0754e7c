import type {
  Endpoints,
  MessageQueue,
  Resource,
} from 'rocketmq-client-nodejs/proto/apache/rocketmq/v2/definition_pb.js';
import type { QueryRouteResponse } from 'rocketmq-client-nodejs/proto/apache/rocketmq/v2/service_pb.js';
import { clientLibrary } from './client-library.ts';
import { NoAnswer } from './failure.ts';
import { assertDone, type Proxies } from './proxies.ts';

/** A broker with queues of a topic, and the proxy through which it is reached. */
export interface RoutedBroker {
  readonly name: string;
  readonly endpoint: string;
  /** Queue numbers, ascending. */
  readonly queues: readonly number[];
}

/** The brokers of a topic. */
export interface RocketmqRoute {
  /** Sorted by name. */
  readonly brokers: readonly RoutedBroker[];
  /** The message types that the topic accepts, as numbers of `MessageType`. */
  readonly types: readonly number[];
}

/** A topic or group of this name in the protocol, with the namespace. */
export function resource({ connection }: Proxies, name: string): Resource {
  const { definitions } = clientLibrary();
  return new definitions.Resource().setName(name).setResourceNamespace(connection.namespace);
}

/** The endpoint of a proxy in the protocol. */
export function endpointsOf(endpoint: string): Endpoints {
  const { definitions } = clientLibrary();
  const { hostname: host, port } = new URL(`tcp://${endpoint}`);
  const bare = host.replaceAll(/^\[|\]$/g, '');
  const { DOMAIN_NAME, IPV4, IPV6 } = definitions.AddressScheme;
  const schemes = { 0: DOMAIN_NAME, 4: IPV4, 6: IPV6 } as const;
  const address = new definitions.Address().setHost(bare).setPort(Number(port));
  return new definitions.Endpoints().setScheme(schemes[versionOf(bare)]).setAddressesList([address]);
}

/**
 * Queries the route of a topic from the configured proxies in turn, until one answers.
 *
 * @throws NoAnswer of the last one; RefusedRequest, for example `TOPIC_NOT_FOUND`
 */
export async function queryRoute(proxies: Proxies, topic: string): Promise<RocketmqRoute> {
  const { requests } = clientLibrary();
  const { servers } = proxies.connection;
  for (const [index, endpoint] of servers.entries()) {
    const request = new requests.QueryRouteRequest()
      .setTopic(resource(proxies, topic))
      // Proxies in front of many brokers return this endpoint in the route.
      .setEndpoints(endpointsOf(endpoint));
    try {
      const answer = await proxies.ask<QueryRouteResponse>(endpoint, (client, metadata, options, done) =>
        client.queryRoute(request, metadata, options, done),
      );
      assertDone(answer.getStatus());
      return routeOf(answer.getMessageQueuesList());
    } catch (error) {
      if (!(error instanceof NoAnswer) || index === servers.length - 1) throw error;
    }
  }
  throw new Error('No endpoint is given.');
}

/** Only masters: replicas accept no messages, and their messages are received from the master. */
function routeOf(queues: readonly MessageQueue[]): RocketmqRoute {
  const brokers = new Map<string, { name: string; endpoint: string; queues: number[] }>();
  const types = new Set<number>();
  for (const queue of queues) {
    const broker = queue.getBroker();
    const address = broker?.getEndpoints()?.getAddressesList()[0];
    if (broker === undefined || address === undefined || broker.getId() !== 0) continue;
    for (const type of queue.getAcceptMessageTypesList()) types.add(type);
    const name = broker.getName();
    const known = brokers.get(name) ?? {
      name,
      endpoint: endpointText(address.getHost(), address.getPort()),
      queues: [],
    };
    brokers.set(name, known);
    known.queues.push(queue.getId());
  }
  const sorted = [...brokers.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return {
    brokers: sorted.map((broker) => ({ ...broker, queues: broker.queues.toSorted((a, b) => a - b) })),
    types: [...types],
  };
}

function versionOf(host: string): 0 | 4 | 6 {
  if (host.includes(':')) return 6;
  return /^[\d.]+$/.test(host) ? 4 : 0;
}

function endpointText(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
