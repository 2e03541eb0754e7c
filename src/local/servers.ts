import type { LocalOptions, LocalPorts, ReportProgress } from './local-options.ts';
import { type LocalServers, startTogether } from './start-together.ts';

/** The usual ports, except for PostgreSQL, whose usual port is often taken by an installed server. */
const defaultPorts: Required<Omit<LocalPorts, 'rabbitmq' | 'redis'>> = {
  postgres: 54320,
  temporal: 7233,
  temporalUi: 8233,
  kafka: 9092,
};

export interface RunServersOptions extends LocalOptions {
  /** Receives the addresses as lines to paste into a shell. */
  readonly print: ReportProgress;
  /** Called once, when all servers answer. */
  readonly started?: (servers: LocalServers) => void;
  /** Stops the servers. */
  readonly signal: AbortSignal;
}

/**
 * Starts PostgreSQL, Temporal and Kafka, prints their addresses, and keeps them until the signal aborts.
 *
 * Data survives under the name `keep`. @defaultValue `servers` Ports are those of {@link defaultPorts} where they are
 * free.
 *
 * @throws what the first server that does not start throws, after the others have been stopped.
 */
export async function runServers(options: RunServersOptions): Promise<void> {
  const { print, signal, started, ...rest } = options;
  const servers = await startTogether({ keep: 'servers', ports: defaultPorts, ...rest, signal });
  try {
    started?.(servers);
    const { postgres, temporal, kafka } = servers;
    for (const line of [
      `export DATABASE_URL='${postgres.url}'`,
      `export TEMPORAL_ADDRESS='${temporal.address}'`,
      `export TEMPORAL_NAMESPACE='${temporal.namespace}'`,
      `export KAFKA_BROKERS='${kafka.brokers.join(',')}'`,
      '',
      `Temporal UI: ${temporal.uiUrl}`,
      'Ctrl-C stops the servers. Their data is kept.',
    ]) {
      print(line);
    }
    await aborted(signal);
  } finally {
    await servers.stop();
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
