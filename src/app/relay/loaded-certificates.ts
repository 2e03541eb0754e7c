import { X509Certificate } from 'node:crypto';
import type { ConnectionOptions } from 'node:tls';
import { temporalCertificates } from '../../brokers/workflow/client/certificates.ts';
import { type RelayConfig, transportOf } from '../../config/config.ts';
import type { SettledTemporal } from '../../config/temporal-config.ts';
import type { CertificateEnd } from '../../core/certificate-end.ts';
import { clientConfig } from '../../store/database/client-config.ts';
import type { DatabaseAddress } from '../../store/database/database-address.ts';

/** What certificates are loaded for. */
export interface Connected {
  readonly config: Pick<RelayConfig, 'topics' | 'transports'>;
  readonly database: DatabaseAddress;
  readonly temporal: SettledTemporal;
}

type Tls = boolean | Pick<ConnectionOptions, 'ca' | 'cert'> | undefined;

/**
 * When the certificates end that the configuration loads: those that the relay shows, and those of authorities that it trusts. It
 * asks no server, and knows no authority of Node or the system, no `pfx`, and no connection of the user's own to Temporal.
 */
export function loadedCertificates({ config, database, temporal }: Connected): readonly CertificateEnd[] {
  const { topics, transports } = config;
  const used = new Set(topics.map((topic) => transportOf(config, topic).transport));
  return [
    ...endsOf('PostgreSQL', () => clientConfig(database).ssl),
    ...endsOf('Temporal', () => temporalCertificates(temporal)),
    ...Object.entries(transports)
      .filter(([, transport]) => used.has(transport))
      .flatMap(([name, transport]) => endsOf(name, () => transport.tls?.())),
  ];
}

/** Settings that cannot be read are reported where they are used. */
function endsOf(server: string, tlsOf: () => Tls): readonly CertificateEnd[] {
  try {
    const tls = tlsOf();
    if (typeof tls !== 'object') return [];
    // Of a chain the first is the client's.
    const client = endsIn(tls.cert).slice(0, 1);
    const authority = endsIn(tls.ca).toSorted().slice(0, 1);
    return [
      ...client.map((until) => ({ server, whose: 'client' as const, until })),
      ...authority.map((until) => ({ server, whose: 'authority' as const, until })),
    ];
  } catch {
    return [];
  }
}

/** The ends of all certificates in PEM, as ISO times. */
function endsIn(pem: ConnectionOptions['ca']): readonly string[] {
  return [pem]
    .flat()
    .flatMap(
      (text) => text?.toString().match(/-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----/gs) ?? [],
    )
    .map((one) => new Date(new X509Certificate(one).validTo).toISOString());
}
