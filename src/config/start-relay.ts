import { Client } from '@temporalio/client';
import type { Worker } from '@temporalio/worker';
import { Relay } from '../relay/relay.ts';
import type { Report } from '../relay/report.ts';
import { type BatchLimits, defaultBatchLimits, defaultTimings, type RelayTimings } from '../relay/timings.ts';
import type { TopicRoute } from '../relay/topic-route.ts';
import { readInstallation } from '../store/installation.ts';
import { requireMigrated } from '../store/migrate.ts';
import { openDatabase } from '../store/pool.ts';
import { readLanes, upsertTopics } from '../store/topics.ts';
import { connectTemporal } from '../temporal/connection.ts';
import { hasSearchAttributes } from '../temporal/search-attributes.ts';
import { createWorkflowStarter } from '../temporal/workflow-starter.ts';
import { createWorkers, type WorkersInput } from '../temporal/workers.ts';
import { type Config, defineConfig, transportOf } from './config.ts';
import { policyOf } from './topic-policy.ts';

/** What most relays leave alone. */
export interface RelayOptions {
  /** Called with what the relay does; nothing depends on it. */
  readonly report?: Report;
  readonly timings?: Partial<RelayTimings>;
  readonly batch?: Partial<BatchLimits>;
  /** How long to wait for Temporal at the start. @defaultValue 60,000 */
  readonly temporalWithinMs?: number;
  readonly workers?: WorkersInput['extra'];
}

export interface RunningRelay {
  /** Resolves when the relay delivers. Rejects when it could not start. */
  readonly ready: Promise<void>;
  /** Rejects when a worker failed for good; the relay has stopped then. */
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
 * @throws OutboxError (from `ready`) `OUTBOX_MIGRATION_MISSING`, `OUTBOX_INSTALLATION_MOVED`, `OUTBOX_SERVER_UNAVAILABLE`
 */
export function startRelay(config: Config, options: RelayOptions = {}): RunningRelay {
  const starting = start(defineConfig(config), options);
  // Whoever only awaits `ready` must not be ended by the other promises.
  const done = starting.then((started) => started.done);
  done.catch(() => undefined);
  const searchAttributes = starting.then((started) => started.searchAttributes);
  searchAttributes.catch(() => undefined);
  const ready = starting.then(() => undefined);
  ready.catch(() => undefined);
  return {
    ready,
    done,
    searchAttributes,
    stop: async () => (await starting.catch(() => undefined))?.stop(),
  };
}

async function start(config: Config, options: RelayOptions): Promise<Started> {
  const lanesWanted = config.topics.reduce((sum, topic) => sum + topic.rules.lanes, 0);
  // One connection per lane, and some for the watcher, the starter and releases.
  const database = openDatabase({ url: config.database.url, connections: config.database.connections ?? lanesWanted + 6 });
  const closers: (() => Promise<void>)[] = [() => database.close()];
  const closeAll = async (): Promise<void> => {
    for (const close of closers.toReversed()) await close();
  };
  try {
    await requireMigrated(database);
    const installation = await readInstallation(database);
    const routes = config.topics.map((topic): TopicRoute => ({ name: topic.name, rules: topic.rules, transport: transportOf(config, topic).transport }));
    await upsertTopics(database, config.topics.map((topic) => policyOf(topic, transportOf(config, topic).name)));
    const lanes = await readLanes(database, routes.map((route) => route.name));
    closers.push(async () => void (await Promise.all([...new Set(routes.map((route) => route.transport))].map((transport) => transport.close()))));

    const address = { address: config.temporal.address ?? 'localhost:7233', namespace: config.temporal.namespace ?? 'default' };
    const connection = await connectTemporal(address, options.temporalWithinMs ?? 60_000);
    closers.push(() => connection.close());
    const client = new Client({ connection, namespace: address.namespace });
    const searchAttributes = await hasSearchAttributes(client, address.namespace).catch(() => false);

    const relay = new Relay({
      database,
      installation,
      routes,
      workflows: createWorkflowStarter(client, installation, searchAttributes),
      timings: { ...defaultTimings, ...options.timings },
      limits: { ...defaultBatchLimits, ...options.batch },
      report: options.report ?? (() => undefined),
    });
    const workers = await createWorkers({
      connection,
      namespace: address.namespace,
      installation,
      relay,
      lanes: lanes.length,
      ...(options.workers !== undefined && { extra: options.workers }),
    });
    const running = Promise.all(workers.map((worker) => worker.run())).then(() => undefined);
    closers.push(async () => {
      for (const worker of workers) endWorker(worker);
      await running.catch(() => undefined);
    });
    await relay.start();
    closers.push(() => relay.stop());

    let stopping: Promise<void> | undefined;
    const stop = (): Promise<void> => (stopping ??= closeAll());
    const done = running.finally(stop);
    done.catch(() => undefined);
    return { searchAttributes, done, stop };
  } catch (error) {
    await closeAll().catch(() => undefined);
    throw error;
  }
}

function endWorker(worker: Worker): void {
  if (worker.getState() === 'RUNNING') worker.shutdown();
}
