import { type SecuredServer, securedServers } from '../../secured-server.ts';
import type { TemporalAddress } from './temporal-address.ts';

/** Temporal, if it is reached by TLS and not by a connection of the user's own. */
export function securedTemporal({
  address,
  apiKey,
  connection,
  tls = apiKey !== undefined,
}: TemporalAddress): readonly SecuredServer[] {
  if (connection !== undefined || tls === false) return [];
  const { clientCertPair: pair, serverNameOverride: servername } = tls === true ? {} : tls;
  const options = {
    ALPNProtocols: ['h2'],
    ...(servername !== undefined && { servername }),
    ...(pair !== undefined && { cert: Buffer.from(pair.crt), key: Buffer.from(pair.key) }),
  };
  return securedServers(options, [address]);
}
