import type { TemporalAddress } from '../../brokers/workflow/client/temporal-address.ts';
import { temporalFailure } from '../../brokers/workflow/client/temporal-failure.ts';
import { addressOfDatabase } from '../../core/database-address.ts';
import { OutboxError } from '../../core/errors.ts';
import { patiently } from '../../core/patience.ts';
import type { RelayReport } from '../../relay/report.ts';
import type { DatabaseAddress } from '../../store/database/database-address.ts';
import { databaseFailure } from '../../store/database/database-failure.ts';
import { schemaMissing } from '../../store/database/schema-missing.ts';
import { statementFailure } from '../../store/database/statement-failure.ts';
import { named } from '../../store/database/visit.ts';
import type { Engine, WorkerExtras } from '../../temporal/relay/engine.ts';
import type { AskedServer } from './relay-presence.ts';

/** The servers that a relay needs to start, and how it waits for them. */
export interface RelayServers {
  /** Reports events of the relay; failures name their server and its address. */
  readonly report: RelayReport;
  /** Queries the database, as soon as it answers. */
  database<Answer>(question: () => Promise<Answer>): Promise<Answer>;
  /** Connects to Temporal, as soon as it answers. @param away called each time it does not */
  engine(away: () => void): Promise<Engine>;
  /** Temporal, with a check of whether it answers. */
  readonly temporal: AskedServer;
}

export interface RelayServersInput {
  readonly at: DatabaseAddress;
  readonly target: TemporalAddress;
  readonly report: RelayReport;
  readonly workers: WorkerExtras | undefined;
  /** Called when a server was reached. */
  readonly reached: (server: 'PostgreSQL' | 'Temporal') => void;
  /** Ends every wait. */
  readonly signal: AbortSignal;
  /** How long to wait for the database. A relay delivers without Temporal, and waits for it indefinitely. */
  readonly withinMs: number;
}

/** Waits for PostgreSQL, and for Temporal, and reports that. If they refuse the relay, the error is thrown at once. */
export function relayServers(input: RelayServersInput): RelayServers {
  const { at, target, report, reached, signal, withinMs } = input;
  const { url } = at;
  const { address } = target;
  const waiting = (server: 'PostgreSQL' | 'Temporal', serverAddress: string) => (error: unknown) =>
    report({ type: 'waiting-for-server', server, address: serverAddress, error });
  const rules = { signal, passing: isAway };
  let connected: Engine | undefined;
  let failure: unknown;
  return {
    report: (event) => {
      if (event.type !== 'error') report(event);
      else
        report({
          ...event,
          error:
            databaseFailure(url, event.error) ??
            // The hook runs statements of users, too, whose missing rights are their own.
            (event.during === 'notices' ? schemaMissing : statementFailure)(event.error) ??
            temporalFailure(target, event.error) ??
            event.error,
        });
    },
    database: async (question) => {
      const answer = await patiently(() => named(url, question), {
        ...rules,
        withinMs,
        waiting: waiting('PostgreSQL', addressOfDatabase(url).address),
      });
      reached('PostgreSQL');
      return answer;
    },
    engine: async (away) => {
      const tell = waiting('Temporal', address);
      // Temporal's packages take half a second to load, and must be installed only where relays run.
      const { connectEngine } = await import('../../temporal/relay/engine.ts');
      connected = await patiently(() => connectEngine(target, input.workers), {
        ...rules,
        withinMs: Infinity,
        waiting: (error) => {
          failure = error;
          tell(error);
          away();
        },
        late: (engine) => void engine.close().catch(() => undefined),
      });
      reached('Temporal');
      return connected;
    },
    temporal: {
      server: 'Temporal',
      address,
      ask: async () => {
        // Until it was tried nobody knows: relays that start one after the other would report an outage.
        if (connected === undefined && failure === undefined) return null;
        if (connected === undefined) throw failure;
        await connected.ping();
        return null;
      },
    },
  };
}

const away: ReadonlySet<string> = new Set(['OUTBOX_CONNECTIONS_EXHAUSTED', 'OUTBOX_SERVER_UNAVAILABLE']);

/** True if the server is unreachable, starting or full, so that a retry may succeed. */
function isAway(error: unknown): boolean {
  return error instanceof OutboxError && away.has(error.code);
}
