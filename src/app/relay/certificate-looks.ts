import type { SecuredServer } from '../../brokers/secured-server.ts';
import type { Transport } from '../../brokers/transport.ts';
import { securedTemporal } from '../../brokers/workflow/client/secured-temporal.ts';
import { type RelayConfig, transportOf } from '../../config/config.ts';
import { readConfig } from '../../config/read-config.ts';
import type { SettledTemporal } from '../../config/temporal-config.ts';
import type { CertificateEnd } from '../../core/certificate-end.ts';
import { keepLooking } from '../../core/keep-looking.ts';
import type { DatabaseAddress } from '../../store/database/database-address.ts';
import { securedDatabase } from '../../store/database/secured-database.ts';
import { alertOptions } from '../../watch/settings.ts';
import { type AskedCertificate, clientCertificateEnd, readCertificate } from './read-certificate.ts';

export interface CertificateLooksInput {
  readonly config: Pick<RelayConfig, 'topics' | 'transports'>;
  readonly database: DatabaseAddress;
  readonly temporal: SettledTemporal;
  readonly everyMs: number;
}

/** Between two looks, in intervals of alerts: ten minutes, unless the configuration says otherwise. */
const lookIntervals = 40;

/** The looks of a relay; `undefined`: nobody wants to know. */
export function certificateLooksOf(
  config: RelayConfig,
  {
    measured,
    ...servers
  }: Pick<CertificateLooksInput, 'database' | 'temporal'> & { readonly measured: boolean },
): CertificateLooks | undefined {
  if (config.alerts === undefined && !measured) return undefined;
  const { interval } = readConfig(alertOptions, config.alerts ?? {}, 'alerts');
  return new CertificateLooks({ config, ...servers, everyMs: lookIntervals * interval });
}

/** A server of the configuration that is reached by TLS. */
interface NamedServer extends AskedCertificate {
  readonly name: string;
}

/**
 * Looks when the certificates of the servers expire that the configuration reaches by TLS, and those that the relay shows them.
 *
 * Looked at are the addresses of the configuration, each by a handshake of its own. Not looked at: brokers that only another broker
 * names, Temporal over a connection of the user's own, and authorities that have signed a certificate.
 */
export class CertificateLooks {
  readonly #input: CertificateLooksInput;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  /** By server and address; what cannot be read keeps what was seen last. */
  #ends: ReadonlyMap<string, readonly CertificateEnd[]> = new Map();

  constructor(input: CertificateLooksInput) {
    this.#input = input;
  }

  /** What was seen last. */
  get ends(): readonly CertificateEnd[] {
    return [...this.#ends.values()].flat();
  }

  start(): void {
    this.#running ??= keepLooking(() => this.#look(), this.#input.everyMs, this.#stopping.signal);
  }

  /** Does not wait for a server that does not answer. Never rejects. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #look(): Promise<void> {
    const before = this.#ends;
    const seen = await Promise.all(
      this.#servers().map(async (server) => {
        const place = `${server.name} ${addressOf(server)}`;
        return [place, await endsOf(server).catch(() => before.get(place) ?? [])] as const;
      }),
    );
    this.#ends = new Map(seen);
  }

  #servers(): readonly NamedServer[] {
    const { database, temporal } = this.#input;
    const postgres = securedDatabase(database);
    return [
      ...(postgres === undefined ? [] : [{ name: 'PostgreSQL', begins: 'postgres' as const, ...postgres }]),
      ...securedTemporal(temporal).map((server) => ({ name: 'Temporal', ...server })),
      ...this.#transportServers(),
    ];
  }

  #transportServers(): readonly NamedServer[] {
    const { config } = this.#input;
    return Object.entries(config.transports).flatMap(([name, transport]) => {
      const addresses = config.topics
        .filter((topic) => transportOf(config, topic).transport === transport)
        .map(({ rules }) => rules.address);
      return addresses.length === 0
        ? []
        : securedBy(transport, addresses).map((server) => ({ name, ...server }));
    });
  }
}

/** Settings that cannot be read are reported where they are used. */
function securedBy(transport: Transport, addresses: readonly string[]): readonly SecuredServer[] {
  try {
    return transport.secured?.(addresses) ?? [];
  } catch {
    return [];
  }
}

function addressOf({ host, port }: AskedCertificate): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

async function endsOf(server: NamedServer): Promise<readonly CertificateEnd[]> {
  const about = { server: server.name, address: addressOf(server) };
  const own = clientCertificateEnd(server.tls);
  const seen = await readCertificate(server);
  return [
    { ...about, whose: 'server', until: seen.toISOString() },
    ...(own === undefined ? [] : [{ ...about, whose: 'client' as const, until: own.toISOString() }]),
  ];
}
