import type { ConnectionOptions } from 'node:tls';
import { clientConfig } from './client-config.ts';
import type { DatabaseAddress } from './database-address.ts';

/** Host and port of a database that is reached by TLS, and how; `undefined`: it is reached without, or by a socket of this machine. */
export function securedDatabase(
  address: DatabaseAddress,
): { readonly host: string; readonly port: number; readonly tls: ConnectionOptions } | undefined {
  const { host = 'localhost', port = 5432, ssl } = clientConfig(address);
  if (ssl === undefined || ssl === false || host.startsWith('/')) return undefined;
  return { host, port, tls: ssl === true ? {} : ssl };
}
