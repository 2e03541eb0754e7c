import type { ConnectionOptions } from 'node:tls';

/** Options of `tls.connect`, except `timeout`. */
export type RabbitmqTls = Omit<ConnectionOptions, 'timeout'>;

/** One server of a cluster, and the user that connects to it. */
export interface RabbitmqServer {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte: `amqps://`. */
  readonly secure: boolean;
  readonly user: string;
  readonly password: string;
  readonly vhost: string;
}

/** How to reach RabbitMQ, validated and with defaults. Servers and TLS are read for each new connection. */
export interface RabbitmqConnection {
  /** One or more; the first that answers is used. */
  readonly servers: readonly RabbitmqServer[];
  readonly tls: RabbitmqTls;
  /** How long the server may take to answer. */
  readonly requestTimeoutMs: number;
  /** Each side ends a connection on which it has heard nothing for two to three times this. */
  readonly heartbeatSeconds: number;
}

/** Where it connects, for display: without credentials. */
export function endpointOf({ servers }: RabbitmqConnection): string {
  const [first] = servers;
  const addresses = servers.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`);
  return `${addresses.join(',')}${first === undefined || first.vhost === '/' ? '' : ` ${first.vhost}`}`;
}
