import type { ConnectionOptions } from 'node:tls';

/** A server that is reached by TLS. */
export interface SecuredServer {
  /** As a socket takes it: an IPv6 address without brackets. */
  readonly host: string;
  /** The one that speaks TLS. */
  readonly port: number;
  /** Options of `tls.connect`, among them the certificate of this client, if it has one. */
  readonly tls: ConnectionOptions;
}

/** The servers of a setting, `host:port` each; none without TLS. */
export function securedServers(
  tls: boolean | ConnectionOptions,
  servers: readonly string[],
): readonly SecuredServer[] {
  if (tls === false) return [];
  return servers.map((server) => {
    const { hostname, port } = new URL(`tcp://${server}`);
    return {
      host: hostname.replaceAll(/^\[|\]$/g, ''),
      port: Number(port),
      tls: tls === true ? {} : tls,
    };
  });
}
