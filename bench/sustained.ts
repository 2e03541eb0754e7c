import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Kafka, logLevel } from 'kafkajs';
import { startRelay } from '../src/app/relay/start-relay.ts';
import { kafka } from '../src/brokers/kafka/transport/kafka-transport.ts';
import type { Database } from '../src/store/database/database.ts';
import { moveLeaves } from '../src/store/retention/leaves.ts';
import type { Servers } from './contenders/arena.ts';
import { walBytes } from './statistics.ts';
import { announceTopic } from './workload.ts';

export interface SustainedSizes {
  readonly seconds: number;
}

/** What is stored, delivered and archived at the same time. */
export interface SustainedFigures {
  readonly seconds: number;
  /** Messages per second. */
  readonly stored: number;
  readonly delivered: number;
  readonly archived: number;
  /** Delivered per second in the first and the last quarter. */
  readonly first: number;
  readonly last: number;
  readonly walBytesPerMessage: number;
  readonly leaves: number;
}

const writers = 2;
/** Writers rest while more than this is stored and not delivered. */
export const mostOpen = 200_000;
const stepMs = 250;
const archiveEveryMs = 5_000;
const leafMs = 15_000;
const foreverMs = 400 * 24 * 60 * 60_000;
export const warmUpMs = 5_000;

interface Counts {
  readonly stored: number;
  readonly delivered: number;
}

/** Two writers, one relay, and the archive without rests, all at once. */
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
  await admin.createTopics({ waitForLeaders: true, topics: [{ topic, numPartitions: 4 }] });
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
  const archive = new Archive(database);
  const rates: number[] = [];
  let last = start;
  const startedAt = performance.now();
  for (let second = 1; second <= seconds; second += 1) {
    for (const due = startedAt + second * 1_000; performance.now() < due; ) {
      await delay(stepMs);
      await holdBack(database, children);
    }
    await archive.round();
    const now = await readCounts(database);
    rates.push(now.delivered - last.delivered);
    last = now;
    if (second % 10 === 0)
      tell(`sustained, ${second} s: ${rates.at(-1)}/s delivered, ${archive.messages} archived`);
  }
  const perSecond = (messages: number) => Math.round((messages * 1_000) / (performance.now() - startedAt));
  const quarter = Math.ceil(seconds / 4);
  const delivered = last.delivered - start.delivered;
  return {
    seconds,
    stored: perSecond(last.stored - start.stored),
    delivered: perSecond(delivered),
    archived: perSecond(archive.messages),
    first: mean(rates.slice(0, quarter)),
    last: mean(rates.slice(-quarter)),
    walBytesPerMessage: Math.round(((await walBytes(database)) - wal) / delivered),
    leaves: archive.leaves,
  };
}

/** The part of the archive that moves leaves, every few seconds. */
class Archive {
  messages = 0;
  leaves = 0;
  readonly #database: Database;
  #roundAt = performance.now();

  constructor(database: Database) {
    this.#database = database;
  }

  async round(): Promise<void> {
    if (performance.now() - this.#roundAt < archiveEveryMs) return;
    this.#roundAt = performance.now();
    const rules = { leafMs, archiveAfterMs: 0, suspectAgeMs: 0, historyMs: foreverMs };
    const { archived } = await moveLeaves(this.#database, rules);
    this.messages += archived;
    this.leaves += Math.sign(archived);
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

/** Positions are the messages that were stored; batches have been delivered. */
async function readCounts(database: Database): Promise<Counts> {
  const [row] = await database.query<Counts>(
    `select (select last_value from outbox.message_position)::float8 as stored,
       (select coalesce(sum(cursor), 0) from (select max(cursor) as cursor from outbox.lane) l)::float8 as delivered`,
  );
  return row ?? { stored: 0, delivered: 0 };
}

async function endOf(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

function mean(rates: readonly number[]): number {
  return Math.round(rates.reduce((sum, rate) => sum + rate, 0) / Math.max(1, rates.length));
}
