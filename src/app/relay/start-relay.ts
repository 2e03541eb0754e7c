import { type Config, defineConfig, type RelayConfig, requireDatabase } from '../../config/config.ts';
import { databaseOf } from '../../config/database-config.ts';
import type { Logger } from '../../config/logger.ts';
import { resolveRelaySettings } from '../../config/relay-settings.ts';
import { temporalOf } from '../../config/temporal-config.ts';
import type { Duration } from '../../core/duration.ts';
import { OutboxError } from '../../core/errors.ts';
import { type Health, HealthRecord } from '../../core/health.ts';
import type { Table } from '../../core/options/collections.ts';
import { optionTable } from '../../core/options/option-table.ts';
import { duration, func, optional, unchecked } from '../../core/options/values.ts';
import { requirePackages } from '../../core/packages.ts';
import { resolveRetention } from '../../core/retention.ts';
import { Running, type StopOptions } from '../../core/running.ts';
import { unlessStopped } from '../../core/unless-stopped.ts';
import type { RelayReport } from '../../relay/report.ts';
import type { RelayTimings } from '../../relay/timings.ts';
import type { TopicRoute } from '../../relay/topic-route.ts';
import { openDatabase, relayLimits } from '../../store/database/pool.ts';
import { writeSettings } from '../../store/installation/settings.ts';
import type { WorkerExtras } from '../../temporal/relay/engine.ts';
import { together } from '../together.ts';
import { relayTroubleLines } from '../trouble-lines.ts';
import { alertsOf } from './alerts.ts';
import { announce } from './announce.ts';
import { requireReceiptTopics } from './confirmation.ts';
import { databaseOutages, watchDatabase } from './database-watch.ts';
import { type DeliverInput, deliver } from './deliver.ts';
import { loadedCertificates } from './loaded-certificates.ts';
import { relayConnections } from './relay-connections.ts';
import { noteCheck, notedBy, noteRows } from './relay-health.ts';
import { RelayMeasures } from './relay-measures.ts';
import { keepPresence } from './relay-presence.ts';
import { relayServers } from './relay-servers.ts';
import type { RelaySupervision } from './relay-supervision.ts';
import { retentionInWords } from './retention-in-words.ts';
import { temporalInWords } from './temporal-in-words.ts';

/** Options that most relays do not need. */
export interface RelayOptions {
  /** Called with each event of the relay; nothing depends on it, and what it throws is dropped. @defaultValue none */
  readonly report?: RelayReport;
  /**
   * Logs every trouble, with or without a `report`: the same one at most every five seconds, with the number of suppressed
   * repeats as `more`. `false`: none. @defaultValue writes one line of JSON per trouble to standard error
   */
  readonly logger?: Logger | false;
  /** How long to wait at the start for PostgreSQL, more than 0. @defaultValue as long as it takes */
  readonly startTimeout?: Duration;
  /** Interceptors of the workers, for tests and tracing, and the id of this build, for the Temporal UI. */
  readonly workers?: WorkerExtras;
}

const relayOptions = optionTable('startRelay()', {
  report: optional(func<RelayReport>()),
  // Checked where it is used.
  logger: unchecked,
  startTimeout: optional(duration(1)),
  workers: unchecked,
} satisfies Table<RelayOptions>);

/** A relay, from its start to its stop. */
export interface RunningRelay {
  /**
   * Resolves when the relay delivers, and Temporal supervises it or is away: then it delivers without, and connects as soon as
   * Temporal answers. Rejects if it could not start, with `OUTBOX_STOPPED` if it was stopped before.
   */
  readonly ready: Promise<void>;
  /**
   * Resolves when the relay has ended, which only {@link RunningRelay.stop} causes: later failures are retried. Rejects if it
   * could not start.
   */
  readonly done: Promise<void>;
  /**
   * False if the namespace lacks OutboxTopic, OutboxKey and OutboxRef: workflows cannot be searched by them. Known once Temporal
   * has answered.
   */
  readonly searchAttributes: Promise<boolean>;
  /** Its health, answered at once from what this process knows. */
  health(): Health;
  /**
   * Settles the batches in hand, frees the lanes and ends; another relay takes over at once. With no batch in hand it takes
   * less than a second, even during the start and whichever server is unreachable. After `timeout` it abandons its batches
   * like a relay that dies: other relays may send them twice, but lose none.
   *
   * A second call ends with the first one, and may give it less time.
   *
   * @throws OutboxError `OUTBOX_OPTION_INVALID` for an invalid `timeout`, before anything is stopped
   */
  stop(options?: StopOptions): Promise<void>;
}

/**
 * Starts a relay in this process: watcher, starter and Temporal workers. Any number of relays may run. While PostgreSQL is
 * unreachable or starting, it waits; while Temporal is, it delivers without it. Both are reported as `waiting-for-server`. It
 * handles no process signals: the caller must stop it on SIGTERM.
 *
 * @throws OutboxError (from `ready`) `OUTBOX_MIGRATION_MISSING`, `OUTBOX_INSTALLATION_MOVED`, `OUTBOX_INSTALLATION_TWICE`,
 * `OUTBOX_SERVER_REFUSED`, `OUTBOX_TLS_FAILED`, `OUTBOX_CONFIG_MISSING`, `OUTBOX_PACKAGE_MISSING` without Temporal's packages,
 * `OUTBOX_SERVER_UNAVAILABLE` after `startTimeout`, `OUTBOX_STOPPED`;
 * `OUTBOX_RECEIPTS_MISSING` and `OUTBOX_SOURCE_UNKNOWN` if a topic asks for receipts that cannot arrive
 */
export function startRelay(config: RelayConfig, options: RelayOptions = {}): RunningRelay {
  return startTimedRelay(config, options, {});
}

/**
 * The same for tests and programs for development, which cannot wait as long as a relay does.
 *
 * @param timings in place of the usual ones, and of what the configuration says
 */
export function startTimedRelay(
  config: RelayConfig,
  options: RelayOptions,
  timings: Partial<RelayTimings>,
): RunningRelay {
  const { startTimeout } = relayOptions.read(options);
  const resolved = {
    ...options,
    timings,
    log: relayTroubleLines(options.logger),
    startTimeoutMs: startTimeout ?? Infinity,
  };
  const health = new HealthRecord();
  const running = new Running(health);
  const starting = start(requireDatabase(defineConfig(config), 'A relay'), resolved, running);
  const done = starting.then(
    () => running.over,
    (error: unknown) => {
      // A start that fails ends what it has begun, which looks like a stop: only its rejection shows which it was.
      if (error !== running.stopping.reason) throw error;
      return running.over;
    },
  );
  return {
    ready: observed(starting.then(() => undefined)),
    done: observed(done),
    searchAttributes: observed(
      starting.then(async (supervision) => (await supervision.connected()).searchAttributes),
    ),
    health: () => health.read(),
    stop: (stopOptions) => running.stop(stopOptions),
  };
}

/** A caller that awaits only one of the promises must not crash because another one rejects. */
function observed<Value>(promise: Promise<Value>): Promise<Value> {
  promise.catch(() => undefined);
  return promise;
}

/** The options, with the logger as a report and the timeout in milliseconds. */
interface StartOptions extends RelayOptions {
  readonly timings: Partial<RelayTimings>;
  readonly log: RelayReport;
  readonly startTimeoutMs: number;
}

async function start(
  config: RelayConfig,
  options: StartOptions,
  running: Running,
): Promise<RelaySupervision> {
  const { stopping } = running;
  try {
    requirePackages('temporal');
    const started = await unlessStopped(open(config, options, running), stopping);
    if (!stopping.aborted) running.health.state = 'running';
    return started;
  } catch (error) {
    const wanted = stopping.aborted;
    await running.end().catch(() => undefined);
    throw wanted ? stopping.reason : error;
  }
}

async function open(config: RelayConfig, options: StartOptions, running: Running): Promise<RelaySupervision> {
  const { health, stopping } = running;
  const at = databaseOf(config.database);
  const target = temporalOf(config.temporal);
  requireSettings(config);
  const database = openDatabase({
    ...at,
    connections: relayConnections(config, 0),
    limits: relayLimits,
    ownNames: true,
  });
  running.add(() => database.close());
  const { settings, ...resolved } = resolveRelaySettings(config.relay, options.timings);
  const measures = await RelayMeasures.open(database);
  running.add(async () => measures?.stop());
  const told = together(notedBy(health, resolved.timings), measures?.report, options.log, options.report);
  const servers = relayServers({
    at,
    target,
    workers: options.workers,
    // A failure that the stop itself causes is not reported.
    report: (event) => (health.state === 'stopped' ? undefined : told?.(event)),
    reached: (server) => health.mended(server),
    signal: stopping,
    withinMs: options.startTimeoutMs,
  });
  const alerts = alertsOf(config, { database, report: servers.report });
  running.add(async () => alerts?.stop());
  // Before the first question that waits for a database that is away.
  watchFor({ alerts, database, measures, report: servers.report }, running);
  await requireReceiptTopics(config);
  // A running migration keeps it waiting, and a stop must not wait for that.
  const { installation, routes } = await servers.database(() =>
    health.during('PostgreSQL', announce(database, config)),
  );
  const retention = resolveRetention(config.retention);
  const words = [...settings, ...retentionInWords(retention), ...temporalInWords(target)];
  await servers.database(() => health.during('PostgreSQL', writeSettings(database, words)));
  stopping.throwIfAborted();
  running.add(() => closeTransports(routes));
  for (const { transport } of routes) transport.prepare?.();
  const presence = keepPresence({
    database,
    config,
    temporal: servers.temporal,
    certificates: loadedCertificates({ config, database: at, temporal: target }),
    asked(checked) {
      noteCheck(health, checked);
      measures?.checked(checked);
    },
    looked: noteRows(health, servers.report),
  });
  running.add(() => presence.stop());
  const draining = (lanes: number): void => database.resize(relayConnections(config, lanes));
  return deliver(
    { config, database, servers, installation, routes, retention, draining, alerts, measures, ...resolved },
    running,
  );
}

/** Tells metrics, alerts and listeners whether the database answers. */
function watchFor(
  {
    alerts,
    database,
    measures,
    report,
  }: Pick<DeliverInput, 'alerts' | 'database' | 'measures'> & { readonly report: RelayReport },
  running: Running,
): void {
  const outages = databaseOutages(report);
  const watch = watchDatabase({
    database,
    looked(error) {
      measures?.database(error === null);
      alerts?.databaseLooked(error);
      // During a start, the wait for the server reports that instead.
      if (running.health.state !== 'starting') outages(error);
    },
  });
  running.add(() => watch.stop());
}

/**
 * Calls settings that are functions now, so that a missing value is reported at the start. A function that fails for another
 * reason may succeed later.
 */
function requireSettings({ transports }: Pick<Config, 'transports'>): void {
  for (const transport of Object.values(transports))
    try {
      void transport.endpoint;
      transport.check?.();
    } catch (error) {
      if (error instanceof OutboxError) throw error;
    }
}

async function closeTransports(routes: readonly TopicRoute[]): Promise<void> {
  await Promise.all([...new Set(routes.map((route) => route.transport))].map((each) => each.close()));
}
