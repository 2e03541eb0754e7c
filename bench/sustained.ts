import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Kafka, logLevel } from 'kafkajs';
import { startRelay } from '../src/app/relay/start-relay.ts';
import { kafka } from '../src/brokers/kafka/transport/kafka-transport.ts';
import type { Database } from '../src/store/database/database.ts';
import { applyRetention } from '../src/store/retention/retention.ts';
import type { Servers } from './contenders/arena.ts';
import { walBytes } from './statistics.ts';
import { type Counts, Course, readCounts, type Stretch } from './sustained-course.ts';
import { announceTopic } from './workload.ts';

export interface SustainedSizes {
  readonly seconds: number;
}

/** What is stored, delivered, archived and dropped at the same time. */
export interface SustainedFigures {
  readonly seconds: number;
  /** Messages per second. */
  readonly stored: number;
  readonly delivered: number;
  readonly archived: number;
  /** The first and the last sixth: of an hour, ten minutes each. */
  readonly first: Stretch;
  readonly last: Stretch;
  readonly walBytesPerMessage: number;
  /** Number of leaves that were dropped. */
  readonly droppedLeaves: number;
}

const writers = 2;
/** Writers rest while more than this is stored and not delivered. */
export const mostOpen = 200_000;
const stepMs = 250;
export const warmUpMs = 5_000;

const retentionEveryMs = 5_000;
const leafMs = 15_000;
/** What is older is dropped: in two minutes the disk has all that it will have after an hour. */
const historyMs = 60_000;
const longMs = 24 * 60 * 60_000;
const rules = {
  archiveAfterMs: 0,
  archiveFailedAfterMs: null,
  historyMs,
  batchesMs: historyMs,
  attemptsMs: longMs,
  processedMs: null,
};

/** Kafka keeps some gigabytes of an hour. */
const kept = [
  { name: 'retention.bytes', value: '500000000' },
  { name: 'segment.bytes', value: '100000000' },
];

/** Two writers, one relay, and the whole retention, all at once. */
export async function measureSustained(
  stage: Servers,
  { seconds }: SustainedSizes,
  tell: (line: string) => void,
): Promise<SustainedFigures> {
  const name = `sustained-${randomUUID().slice(0, 8)}`;
  const target = await announceTopic(stage.database, name, { lanes: 2 });
  await createOnBroker(stage, name);
  const transport = kafka({ servers: stage.brokers });
  const relay = startRelay({
    database: { url: stage.databaseUrl },
    temporal: { address: stage.temporalAddress },
    topics: [target],
    transports: { kafka: transport },
  });
  await relay.ready;
  const program = path.join(
    import.meta.dirname,
    `sustained-writer-main${path.extname(import.meta.filename)}`,
  );
  const children = Array.from({ length: writers }, () => fork(program, [stage.databaseUrl, name]));
  try {
    return await watch(stage.database, children, seconds, tell);
  } finally {
    await Promise.all(children.map(endOf));
    await relay.stop();
    await transport.close();
  }
}

async function createOnBroker({ brokers }: Servers, topic: string): Promise<void> {
  const admin = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  await admin.createTopics({
    waitForLeaders: true,
    topics: [{ topic, numPartitions: 4, configEntries: kept }],
  });
  await admin.disconnect();
}

async function watch(
  database: Database,
  children: readonly ChildProcess[],
  seconds: number,
  tell: (line: string) => void,
): Promise<SustainedFigures> {
  const start = await afterWarmUp(database, children);
  const wal = await walBytes(database);
  const course = new Course(database, start);
  const upkeep = new Upkeep(database);
  const startedAt = performance.now();
  for (let second = 1; second <= seconds; second += 1) {
    for (const due = startedAt + second * 1_000; performance.now() < due; ) {
      await delay(stepMs);
      await holdBack(database, children);
    }
    const line = await course.note();
    if (second % 10 === 0) tell(`sustained, ${second} s: ${line}, ${upkeep.archived} archived`);
  }
  const measuredMs = performance.now() - startedAt;
  const perSecond = (messages: number) => Math.round((messages * 1_000) / measuredMs);
  const { archived, droppedLeaves } = await upkeep.end();
  const { stored, delivered } = course.since(start);
  return {
    seconds,
    stored: perSecond(stored),
    delivered: perSecond(delivered),
    archived: perSecond(archived),
    first: course.first(seconds / 6),
    last: course.last(seconds / 6),
    walBytesPerMessage: Math.round(((await walBytes(database)) - wal) / delivered),
    droppedLeaves,
  };
}

/** The retention, round after round, beside everything else. */
class Upkeep {
  archived = 0;
  droppedLeaves = 0;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(database: Database) {
    this.#running = this.#go(database);
  }

  async #go(database: Database): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const done = await applyRetention({ database, rules, leafMs, signal, progress: () => undefined });
      this.archived += done.archived;
      this.droppedLeaves += done.dropped;
      await delay(retentionEveryMs, undefined, { signal }).catch(() => undefined);
    }
  }

  async end(): Promise<this> {
    this.#stop.abort();
    await this.#running;
    return this;
  }
}

async function afterWarmUp(database: Database, children: readonly ChildProcess[]): Promise<Counts> {
  for (let ms = 0; ms < warmUpMs; ms += stepMs) {
    await delay(stepMs);
    await holdBack(database, children);
  }
  return readCounts(database);
}

async function holdBack(database: Database, children: readonly ChildProcess[]): Promise<void> {
  const { delivered, stored } = await readCounts(database);
  for (const child of children) child.send(stored - delivered > mostOpen ? 'rest' : 'go');
}

async function endOf(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}
