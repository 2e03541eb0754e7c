import type { ConnectionOptions } from 'node:tls';

/** Options of `tls.connect`; how long a connection may take is set by `requestTimeout`. */
export type RabbitmqTls = Omit<ConnectionOptions, 'timeout'>;

/** One server of a cluster, and who connects to it. */
export interface RabbitmqServer {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte: `amqps://`. */
  readonly secure: boolean;
  readonly user: string;
  readonly password: string;
  readonly vhost: string;
}

/** How to reach RabbitMQ, everything decided. Servers and TLS are read anew for each connection. */
export interface RabbitmqConnection {
  /** One or more; the first that answers is taken. */
  readonly servers: readonly RabbitmqServer[];
  readonly tls: RabbitmqTls;
  /** How long the server may take to answer. */
  readonly requestTimeoutMs: number;
}

/** The library's own time, in seconds. Tests shorten it; everybody else leaves it. */
export const heartbeatSeconds = 10;

/** Where it connects, for people: without credentials. */
export function endpointOf({ servers }: RabbitmqConnection): string {
  const [first] = servers;
  const places = servers.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`);
  return `${places.join(',')}${first === undefined || first.vhost === '/' ? '' : ` ${first.vhost}`}`;
}
