import { setTimeout as delay } from 'node:timers/promises';
import { assertOptions } from '../core/option-names.ts';
import { requirePackages } from '../core/packages.ts';
import { type RetentionRules, resolveRetention } from '../core/retention.ts';
import { withdrawIds } from '../operations/withdraw.ts';
import { createMaintenance } from '../relay/maintenance.ts';
import { Relay } from '../relay/relay.ts';
import type { Report } from '../relay/report.ts';
import type { TopicRoute } from '../relay/topic-route.ts';
import { refuseTwin } from '../relay/twin.ts';
import type { Database } from '../store/database/database.ts';
import { openDatabase, relayLimits } from '../store/database/pool.ts';
import { readInstallation } from '../store/installation/installation.ts';
import { requireMigrated } from '../store/installation/migrate.ts';
import { writeSettings } from '../store/installation/settings.ts';
import { upsertTopics } from '../store/lane/topics.ts';
import type { Engine, WorkerExtras } from '../temporal/relay/engine.ts';
import type { Hosted } from '../temporal/running-workers.ts';
import { isKafkaTransport } from '../transports/kafka/kafka-transport.ts';
import { completeInBackground } from './announced-topics.ts';
import { type Config, defineConfig, type RelayConfig, requireDatabase, transportOf } from './config.ts';
import { confirmationOf, requireReceiptTopics } from './confirmation.ts';
import { databaseOf } from './database-config.ts';
import { unlessStopped } from './patience.ts';
import { keepPresence } from './relay-presence.ts';
import { relayServers } from './relay-servers.ts';
import { type ResolvedRelaySettings, resolveRelaySettings } from './relay-settings.ts';
import { retentionInWords } from './retention-in-words.ts';
import { temporalOf } from './temporal-config.ts';
import { temporalInWords } from './temporal-in-words.ts';
import { policyOf } from './topic-policy.ts';
import { relayTroubleLines } from './trouble-lines.ts';

/** What most relays leave alone. */
export interface RelayOptions {
  /** Called with what the relay does; nothing depends on it. @defaultValue troubles go to standard error, one line each */
  readonly report?: Report;
  /** How long to wait at the start for PostgreSQL and for Temporal, each, in milliseconds. @defaultValue no limit */
  readonly startWithinMs?: number;
  /** Interceptors of the workers, for tests and tracing, and the id of this build, for the Temporal UI. */
  readonly workers?: WorkerExtras;
}

/** A relay that was started. It may still wait for its servers: see {@link RunningRelay.ready}. */
export interface RunningRelay {
  /** Resolves when the relay delivers. Rejects when it could not start, or was stopped before. */
  readonly ready: Promise<void>;
  /** Resolves after {@link RunningRelay.stop}. Rejects when the relay could not start. */
  readonly done: Promise<void>;
  /** False when the namespace does not know OutboxTopic, OutboxKey and OutboxRef: workflows cannot be searched by them. */
  readonly searchAttributes: Promise<boolean>;
  /**
   * Settles what is on its way, frees the lanes and ends. Another relay goes on at once. A relay that waits for a server
   * at its start ends at once.
   */
  stop(): Promise<void>;
}

interface Started {
  readonly searchAttributes: boolean;
  readonly done: Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts the process that delivers: watcher, starter and Temporal workers. Any number of relays may run. While PostgreSQL
 * or Temporal is away or starting, it waits, and says so by the event `waiting`.
 *
 * @throws OutboxError (from `ready`) `OUTBOX_MIGRATION_MISSING`, `OUTBOX_INSTALLATION_MOVED`, `OUTBOX_INSTALLATION_TWICE`,
 * `OUTBOX_SERVER_REFUSED`, `OUTBOX_TLS_FAILED`, `OUTBOX_CONFIG_MISSING`, `OUTBOX_PACKAGE_MISSING` without Temporal's packages,
 * `OUTBOX_SERVER_UNAVAILABLE` after `startWithinMs`;
 * `OUTBOX_RECEIPTS_MISSING` and `OUTBOX_SOURCE_UNKNOWN` when a topic asks for receipts that cannot come back
 */
export function startRelay(config: RelayConfig, options: RelayOptions = {}): RunningRelay {
  assertOptions('startRelay()', options, ['report', 'startWithinMs', 'workers']);
  const stopping = new AbortController();
  const starting = start(requireDatabase(defineConfig(config), 'A relay'), options, stopping.signal);
  const done = starting.then(
    (started) => started.done,
    (error: unknown) => {
      if (!stopping.signal.aborted) throw error;
    },
  );
  return {
    ready: observed(starting.then(() => undefined)),
    done: observed(done),
    searchAttributes: observed(starting.then((started) => started.searchAttributes)),
    stop: async () => {
      stopping.abort();
      const started = await starting.catch(() => undefined);
      await started?.stop();
    },
  };
}

/** Whoever awaits only one of the promises must not be ended by the rejection of another. */
function observed<Value>(promise: Promise<Value>): Promise<Value> {
  promise.catch(() => undefined);
  return promise;
}

/** How long a stop in the middle of a start waits for what is open. */
const leaveWithinMs = 300;

/** What has been opened, to be closed in reverse order, once. */
class Opened {
  readonly #closers: (() => Promise<unknown>)[] = [];
  #closing: Promise<void> | undefined;

  add(close: () => Promise<unknown>): void {
    this.#closers.push(close);
  }

  close(): Promise<void> {
    this.#closing ??= (async () => {
      for (const close of this.#closers.toReversed()) await close();
    })();
    return this.#closing;
  }
}

async function start(config: RelayConfig, options: RelayOptions, stop: AbortSignal): Promise<Started> {
  const opened = new Opened();
  try {
    requirePackages('temporal');
    return await open(config, options, opened, stop);
  } catch (error) {
    const closed = opened.close().catch(() => undefined);
    // A connection that is being made to a server that is away would keep whoever stops for seconds.
    await (stop.aborted ? Promise.race([closed, delay(leaveWithinMs)]) : closed);
    throw error;
  }
}

async function open(
  config: RelayConfig,
  options: RelayOptions,
  opened: Opened,
  stop: AbortSignal,
): Promise<Started> {
  const at = databaseOf(config.database);
  const target = temporalOf(config.temporal);
  requireBrokers(config);
  const database = openDatabase({
    ...at,
    connections: connectionsOf(config, 0),
    limits: relayLimits,
  });
  opened.add(() => database.close());
  const { settings, ...resolved } = resolveRelaySettings(config.relay);
  const servers = relayServers({
    at,
    target,
    report: options.report ?? relayTroubleLines(),
    signal: stop,
    withinMs: options.startWithinMs ?? Number.POSITIVE_INFINITY,
  });
  await unlessStopped(requireReceiptTopics(config), stop);
  const { installation, routes } = await servers.database(() => announce(database, config));
  const retention = resolveRetention(config.retention);
  const words = [...settings, ...retentionInWords(retention), ...temporalInWords(target)];
  await writeSettings(database, words);
  opened.add(() => closeTransports(routes));
  const presence = keepPresence({ database, config, temporal: servers.temporal });
  opened.add(() => presence.stop());
  const engine = await servers.engine(options.workers);
  opened.add(() => engine.close());
  const { report } = servers;
  const draining = (lanes: number): void => database.resize(connectionsOf(config, lanes));
  const hosted = await host(
    { config, database, engine, installation, routes, retention, report, draining, ...resolved },
    opened,
    stop,
  );
  return { searchAttributes: engine.searchAttributes, done: hosted.done, stop: () => opened.close() };
}

/** What a relay that has found its servers is made of. */
interface HostInput extends Omit<ResolvedRelaySettings, 'settings'> {
  readonly config: Config;
  readonly database: Database;
  readonly engine: Engine;
  readonly installation: string;
  readonly routes: readonly TopicRoute[];
  readonly retention: RetentionRules;
  readonly report: Report;
  readonly draining: (lanes: number) => void;
}

/** Runs the workers, and watches the outbox. */
async function host(input: HostInput, opened: Opened, stop: AbortSignal): Promise<Hosted> {
  const { database, engine, installation, intervals, limits, report, retention, routes, timings } = input;
  const askPlace = engine.placeAsker(installation);
  await refuseTwin(database, askPlace);
  const confirmation = confirmationOf(input.config, { database, installation, report });
  opened.add(() => confirmation.stop());
  const relay = new Relay({
    database,
    installation,
    routes,
    workflows: engine.starter(installation),
    timings,
    limits,
    report,
    confirming: confirmation.topics,
    draining: input.draining,
  });
  const topics = routes.map(({ name }) => name);
  const completing = completeInBackground(database, topics, report);
  opened.add(() => completing.stop());
  const maintenance = createMaintenance({
    database,
    census: engine.census(installation),
    askPlace,
    withdraw: (ids, author, narrow) => withdrawIds(database, ids, author, { narrow }),
    retention,
    report,
  });
  await relay.open();
  opened.add(() => relay.close());
  const hosted = await engine.host({ relay, maintenance }, installation, routes.length, report);
  opened.add(() => hosted.stop());
  stop.throwIfAborted();
  const kept = engine.keep(hosted, installation, intervals, report);
  opened.add(() => kept.stop());
  // Watching ends first, so that nothing is started for workers that are about to end.
  opened.add(() => relay.stop());
  relay.start();
  confirmation.start();
  return hosted;
}

/** For the watcher, the starter and releases. */
const spareConnections = 6;

/**
 * One connection per lane, and some to spare, unless the configuration says how many. A topic may have been given more
 * lanes than it says, so those that this relay drains at the moment count where they are more.
 */
function connectionsOf({ database, topics }: RelayConfig, draining: number): number {
  const lanes = topics.reduce((sum, topic) => sum + topic.rules.lanes, 0);
  return database.connections ?? Math.max(lanes, draining) + spareConnections;
}

/** What is given as a function is asked now, so that what it lacks is told at the start. */
function requireBrokers({ transports }: Pick<Config, 'transports'>): void {
  for (const transport of Object.values(transports))
    if (isKafkaTransport(transport)) void transport.connection.brokers;
}

async function closeTransports(routes: readonly TopicRoute[]): Promise<void> {
  await Promise.all([...new Set(routes.map((route) => route.transport))].map((each) => each.close()));
}

/** Checks that this is the installation's database, and writes the policies of the topics. */
async function announce(
  database: Database,
  config: Config,
): Promise<{ installation: string; routes: readonly TopicRoute[] }> {
  await requireMigrated(database);
  const installation = await readInstallation(database);
  const routed = config.topics.map((topic) => ({ topic, ...transportOf(config, topic) }));
  await upsertTopics(
    database,
    routed.map(({ topic, name }) => policyOf(topic, name)),
  );
  return {
    installation,
    routes: routed.map(({ topic, transport }) => ({ name: topic.name, rules: topic.rules, transport })),
  };
}
