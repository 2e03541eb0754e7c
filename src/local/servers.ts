import type { LocalOptions, LocalPorts, ReportProgress } from './local-options.ts';
import { type OptionalServer, startOptional } from './optional-servers.ts';
import { type LocalServers, startTogether } from './start-together.ts';

/**
 * For servers that a person works with: their data survives under the name `servers`. Ports are the usual ones where they are
 * free, except for PostgreSQL, whose usual port is often taken by an installed server.
 */
export const keptServers: { readonly keep: string; readonly ports: Required<LocalPorts> } = {
  keep: 'servers',
  ports: { postgres: 54320, temporal: 7233, temporalUi: 8233, kafka: 9092, redis: 6379, rabbitmq: 5672 },
};

/** Environment variables that say where the servers are. */
export type ServerAddresses = Readonly<Record<string, string>>;

export interface RunServersOptions extends LocalOptions {
  /** Servers beside PostgreSQL, Temporal and Kafka. @defaultValue none */
  readonly also?: readonly OptionalServer[];
  /** Receives the addresses as lines to paste into a shell. */
  readonly print: ReportProgress;
  /** Called once, when all servers answer. */
  readonly started?: (servers: LocalServers, addresses: ServerAddresses) => void;
  /** Stops the servers. */
  readonly signal: AbortSignal;
}

/**
 * Starts the servers, prints their addresses, and keeps them until the signal aborts.
 *
 * Data survives under the name `keep`. Name and ports are those of {@link keptServers}, unless given.
 *
 * @throws what the first server that does not start throws, after the others have been stopped.
 */
export async function runServers(options: RunServersOptions): Promise<void> {
  const { print, signal, started } = options;
  await withServers({ ...keptServers, ...options }, async (servers, addresses) => {
    started?.(servers, addresses);
    for (const [name, address] of Object.entries(addresses)) print(`export ${name}='${address}'`);
    print('');
    print(`Temporal UI: ${servers.temporal.uiUrl}`);
    print('Ctrl-C stops the servers. Their data is kept.');
    await aborted(signal);
  });
}

/**
 * Starts the servers, does the work, and stops them again. Their data is removed unless `keep` names it.
 *
 * @throws what the first server that does not start throws, after the others have been stopped; what the work throws
 */
export async function withServers<T>(
  { also = [], ...options }: LocalOptions & { readonly also?: readonly OptionalServer[] },
  work: (servers: LocalServers, addresses: ServerAddresses) => Promise<T>,
): Promise<T> {
  const servers = await startTogether(options);
  const running: { stop(): Promise<void> }[] = [servers];
  try {
    const { kafka, postgres, temporal } = servers;
    const addresses: Record<string, string> = {
      DATABASE_URL: postgres.url,
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_NAMESPACE: temporal.namespace,
      KAFKA_BROKERS: kafka.brokers.join(','),
    };
    for (const name of also) {
      const server = await startOptional(name, options);
      running.push(server);
      addresses[server.variable] = server.address;
    }
    return await work(servers, addresses);
  } finally {
    await Promise.all(running.map((server) => server.stop()));
  }
}

/** Resolves when the signal aborts, and keeps the process alive until then; a listener alone would not. */
function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setInterval(() => {}, 60_000);
    const end = () => {
      clearInterval(timer);
      resolve();
    };
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  });
}
