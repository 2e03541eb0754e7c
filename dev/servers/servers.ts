import { OutboxError } from '../../src/core/errors.ts';
import { keptData } from './kept-servers.ts';
import type { DeadServer, LocalOptions, ReportProgress } from './local-options.ts';
import { type OptionalServer, startOptional } from './optional-servers.ts';
import { type LocalServers, type NeededServers, startTogether, startWithoutKafka } from './start-together.ts';

/** Environment variables that say where the servers are. */
export type ServerAddresses = Readonly<Record<string, string>>;

/** Which servers are started. */
export interface ServerChoice {
  /** Servers beside PostgreSQL, Temporal and Kafka. @defaultValue none */
  readonly also?: readonly OptionalServer[];
  /** Whether Kafka is left out, whose client is then not needed. @defaultValue false */
  readonly withoutKafka?: boolean;
}

/** What has been started. */
export type StartedServers = NeededServers & Partial<LocalServers>;

export interface RunServersOptions extends LocalOptions, ServerChoice {
  readonly keep: string;
  /** Receives the addresses as lines to paste into a shell. */
  readonly print: ReportProgress;
  /** Called once, when all servers answer. */
  readonly started?: (servers: StartedServers, addresses: ServerAddresses) => void;
  /** Stops the servers. */
  readonly signal: AbortSignal;
}

/**
 * Starts the servers, prints their addresses, and keeps them until the signal aborts. Data survives under the name `keep`.
 *
 * @throws what the first server that does not start throws, after the others have been stopped; `OUTBOX_SERVER_UNAVAILABLE`
 * when one has ended by itself
 */
export async function runServers(options: RunServersOptions): Promise<void> {
  const { env, keep, print, signal, started } = options;
  await withServers(options, async (servers, addresses, lost) => {
    started?.(servers, addresses);
    for (const [name, address] of Object.entries(addresses)) print(`export ${name}='${address}'`);
    print('');
    print(`Temporal UI: ${servers.temporal.uiUrl}`);
    print('Ctrl-C stops the servers.');
    print(`Their data is kept in ${keptData(env, keep)}.`);
    await aborted(AbortSignal.any([signal, lost]));
  });
}

/**
 * Starts the servers, does the work, and stops them again. Their data is removed unless `keep` names it. When one of them ends
 * by itself, the signal `lost` fires, and the work should end.
 *
 * @throws what the first server that does not start throws, after the others have been stopped; what the work throws;
 * `OUTBOX_SERVER_UNAVAILABLE` when a server has ended by itself
 */
export async function withServers<T>(
  { also = [], withoutKafka = false, ...options }: LocalOptions & ServerChoice,
  work: (servers: StartedServers, addresses: ServerAddresses, lost: AbortSignal) => Promise<T>,
): Promise<T> {
  const lost = new AbortController();
  const watched = { ...options, died: (dead: DeadServer) => lost.abort(death(dead)) };
  const servers: StartedServers = await (withoutKafka ? startWithoutKafka : startTogether)(watched);
  const running: { stop(): Promise<void> }[] = [servers];
  try {
    const { kafka, postgres, temporal } = servers;
    const addresses: Record<string, string> = {
      DATABASE_URL: postgres.url,
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_NAMESPACE: temporal.namespace,
      ...(kafka === undefined ? {} : { KAFKA_BROKERS: kafka.brokers.join(',') }),
    };
    for (const name of also) {
      const server = await startOptional(name, watched);
      running.push(server);
      Object.assign(addresses, server.addresses);
    }
    const result = await work(servers, addresses, lost.signal);
    lost.signal.throwIfAborted();
    return result;
  } finally {
    await Promise.all(running.map((server) => server.stop()));
  }
}

function death({ server, how, logFile }: DeadServer): OutboxError {
  return new OutboxError(
    'OUTBOX_SERVER_UNAVAILABLE',
    `${server} has ended by itself, ${how}, and the other servers end with it. Its log is ${logFile}.`,
    { details: { server, logFile } },
  );
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
