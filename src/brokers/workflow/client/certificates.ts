import type { ConnectionOptions } from 'node:tls';
import type { TemporalAddress } from './temporal-address.ts';

/** The certificates that are loaded for Temporal, as `tls.connect` takes them. */
export function temporalCertificates({
  tls,
}: TemporalAddress): Pick<ConnectionOptions, 'ca' | 'cert'> | undefined {
  if (typeof tls !== 'object') return undefined;
  const { clientCertPair: pair, serverRootCACertificate: ca } = tls;
  return {
    ...(ca !== undefined && { ca: Buffer.from(ca) }),
    ...(pair !== undefined && { cert: Buffer.from(pair.crt) }),
  };
}
