import { resolveRetention } from '../core/retention.ts';
import { withdrawIds } from '../operations/withdraw.ts';
import { createMaintenance } from '../relay/maintenance.ts';
import { Relay } from '../relay/relay.ts';
import type { Report } from '../relay/report.ts';
import { refuseTwin } from '../relay/twin.ts';
import type { TopicRoute } from '../relay/topic-route.ts';
import type { Database } from '../store/database.ts';
import { readInstallation } from '../store/installation.ts';
import { requireMigrated } from '../store/migrate.ts';
import { openDatabase, relayLimits } from '../store/pool.ts';
import { writeSettings } from '../store/settings.ts';
import { upsertTopics } from '../store/topics.ts';
import { connectEngine, type Engine, type WorkerExtras } from '../temporal/engine.ts';
import { completeInBackground } from './announced-topics.ts';
import { type Config, defineConfig, transportOf } from './config.ts';
import { confirmationOf, requireReceiptTopics } from './confirmation.ts';
import { resolveRelaySettings } from './relay-settings.ts';
import { retentionInWords } from './retention-in-words.ts';
import { policyOf } from './topic-policy.ts';

/** What most relays leave alone. */
export interface RelayOptions {
  /** Called with what the relay does; nothing depends on it. */
  readonly report?: Report;
  /** How long to wait for Temporal at the start. @defaultValue 60,000 */
  readonly temporalWithinMs?: number;
  /** Interceptors of the workers, for tests and tracing, and the id of this build, for the Temporal UI. */
  readonly workers?: WorkerExtras;
}

export interface RunningRelay {
  /** Resolves when the relay delivers. Rejects when it could not start. */
  readonly ready: Promise<void>;
  /** Resolves after {@link RunningRelay.stop}. Rejects when the relay could not start. */
  readonly done: Promise<void>;
  /** False when the namespace does not know OutboxTopic, OutboxKey and OutboxRef: workflows cannot be searched by them. */
  readonly searchAttributes: Promise<boolean>;
  /** Settles what is on its way, frees the lanes and ends. Another relay goes on at once. */
  stop(): Promise<void>;
}

interface Started {
  readonly searchAttributes: boolean;
  readonly done: Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts the process that delivers: watcher, starter and Temporal workers. Any number of relays may run.
 *
 * @throws OutboxError (from `ready`) `OUTBOX_MIGRATION_MISSING`, `OUTBOX_INSTALLATION_MOVED`, `OUTBOX_INSTALLATION_TWICE`,
 * `OUTBOX_SERVER_UNAVAILABLE`;
 * `OUTBOX_RECEIPTS_MISSING` and `OUTBOX_SOURCE_UNKNOWN` when a topic asks for receipts that cannot come back
 */
export function startRelay(config: Config, options: RelayOptions = {}): RunningRelay {
  const starting = start(defineConfig(config), options);
  return {
    ready: observed(starting.then(() => undefined)),
    done: observed(starting.then((started) => started.done)),
    searchAttributes: observed(starting.then((started) => started.searchAttributes)),
    stop: async () => {
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

async function start(config: Config, options: RelayOptions): Promise<Started> {
  const opened = new Opened();
  try {
    return await open(config, options, opened);
  } catch (error) {
    await opened.close().catch(() => undefined);
    throw error;
  }
}

async function open(config: Config, options: RelayOptions, opened: Opened): Promise<Started> {
  const lanesWanted = config.topics.reduce((sum, topic) => sum + topic.rules.lanes, 0);
  // One connection per lane, and some for the watcher, the starter and releases. Lanes that are added later share them.
  const connections = config.database.connections ?? lanesWanted + 6;
  const database = openDatabase({ url: config.database.url, connections, limits: relayLimits });
  opened.add(() => database.close());
  const { timings, limits, intervals, settings } = resolveRelaySettings(config.relay);
  await requireReceiptTopics(config);
  const { installation, routes } = await announce(database, config);
  const retention = resolveRetention(config.retention);
  await writeSettings(database, [...settings, ...retentionInWords(retention)]);
  opened.add(() =>
    Promise.all([...new Set(routes.map((route) => route.transport))].map((each) => each.close())),
  );

  const engine = await connect(config, options);
  opened.add(() => engine.close());
  const report = options.report ?? (() => undefined);
  const askPlace = engine.placeAsker(installation);
  await refuseTwin(database, askPlace);
  const confirmation = confirmationOf(config, { database, installation, report });
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
  const kept = engine.keep(hosted, installation, intervals, report);
  opened.add(() => kept.stop());
  // Watching ends first, so that nothing is started for workers that are about to end.
  opened.add(() => relay.stop());
  relay.start();
  confirmation.start();
  return {
    searchAttributes: engine.searchAttributes,
    done: hosted.done,
    stop: () => opened.close(),
  };
}

function connect(
  { temporal }: Config,
  { temporalWithinMs = 60_000, workers }: RelayOptions,
): Promise<Engine> {
  const { address = 'localhost:7233', namespace = 'default' } = temporal;
  return connectEngine({ address, namespace }, temporalWithinMs, workers);
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
