import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { send } from '../src/outbox/send.ts';
import { transaction } from '../src/outbox/transact.ts';
import { clientOf } from '../src/store/database/pool-client.ts';
import { type Entry, openContender, type Servers, untilArrived, withContender } from './contenders/arena.ts';
import type { ContenderProcess } from './contenders/child.ts';
import { contenders } from './contenders/contenders.ts';
import { type ProcessorTimes, processorTimes } from './contenders/processor-time.ts';
import { deadVersions, walBytes } from './statistics.ts';
import { announceTopic, type BodyTopic, body, overall } from './workload.ts';

export interface CommitSizes {
  /** In each the relay runs once, and once it does not. */
  readonly rounds: number;
  /** Of committing, each time. */
  readonly seconds: number;
  /** Messages of a drain whose log is measured. */
  readonly drained: number;
}

/** Bytes of the write-ahead log for a message. */
export interface WalFigures {
  readonly stored: number;
  readonly delivered: number;
}

export interface CommitFigures {
  /** Transactions per second with a business row and a message each, while a relay drains, and without one. */
  readonly beside: number;
  readonly alone: number;
  /** Row versions of messages that were left behind, of all that was committed and drained here. */
  readonly dead: number;
  readonly messages: number;
  readonly wal: Readonly<Record<'ours' | 'pgBoss', WalFigures>>;
}

type Tell = (line: string) => void;

const connections = 16;
const warmUpMs = 1_000;
const setting = { lanes: 2 };

/** What a relay that drains costs those who commit, and what PostgreSQL keeps of a message. */
export async function measureCommit(
  servers: Servers,
  node: string,
  sizes: CommitSizes,
  tell: Tell,
): Promise<CommitFigures> {
  const before = await deadVersions(servers.database);
  const committed = await commitRates(servers, node, sizes, tell);
  const ours = await walOf(servers, { name: 'ours', node, setting }, sizes.drained);
  const dead = (await deadVersions(servers.database)) - before;
  const best = contenders.pgBoss.settings[0] ?? {};
  const pgBoss = await walOf(servers, { name: 'pgBoss', node, setting: best }, sizes.drained);
  for (const [name, { delivered, stored }] of Object.entries({ ours, pgBoss }))
    tell(`WAL of ${name}: ${stored} bytes a message stored, ${delivered} delivered`);
  const messages = committed.messages + sizes.drained;
  tell(`${dead} dead row versions of ${messages} messages`);
  return { ...committed, messages, dead, wal: { ours, pgBoss } };
}

type Rates = Pick<CommitFigures, 'beside' | 'alone' | 'messages'>;

/** @throws Error unless Kafka has every message exactly once */
async function commitRates(servers: Servers, node: string, sizes: CommitSizes, tell: Tell): Promise<Rates> {
  const { arrivals, database } = servers;
  const topic = await arrivals.createTopic('commit');
  const target = await announceTopic(database, topic, { ...setting, timer: 'lane' });
  await database.query('create table committed (n integer not null, text text not null)');
  const committers = new Committers(servers.databaseUrl, target);
  const rates = { beside: [] as number[], alone: [] as number[] };
  const run = async (name: keyof typeof rates, relay?: ContenderProcess): Promise<void> => {
    const work = (): Promise<number> => committers.run(sizes.seconds * 1_000);
    const { cores, perSecond } = await withCores(servers, relay, work);
    rates[name].push(perSecond);
    tell(`${connections} connections ${name}: ${perSecond} commits/s, cores ${cores}`);
  };
  const beside = (): Promise<void> =>
    withRelay(servers, node, topic, async (relay) => {
      // What was committed without a relay is no part of what is drained while others commit.
      await untilArrived(arrivals, topic, committers.committed);
      await committers.run(warmUpMs);
      await run('beside', relay);
      await untilArrived(arrivals, topic, committers.committed);
    });
  try {
    for (let round = 1; round <= sizes.rounds; round += 1) {
      // In turn, because the speed of the machine may change. The relay comes first: it completes the new topic.
      if (round % 2 === 1) await beside();
      await committers.run(warmUpMs);
      await run('alone');
      if (round % 2 === 0) await beside();
    }
    await withRelay(servers, node, topic, () => untilArrived(arrivals, topic, committers.committed));
    await arrivals.read(topic, committers.committed);
  } finally {
    await committers.close();
    await database.query('drop table committed');
    await arrivals.deleteTopic(topic);
  }
  return { beside: overall(rates.beside), alone: overall(rates.alone), messages: committers.committed };
}

/** The cores that the servers, the committing process and the relay use meanwhile, in words. */
async function withCores(
  { pids }: Servers,
  relay: ContenderProcess | undefined,
  work: () => Promise<number>,
): Promise<{ readonly perSecond: number; readonly cores: string }> {
  const read = async (): Promise<ProcessorTimes> => {
    const { system, user } = process.cpuUsage();
    const samples = (await relay?.ask('cpu', null)) ?? [];
    return {
      ...processorTimes(pids),
      committers: (system + user) / 1_000,
      relay: samples.at(-1)?.cpuMs ?? 0,
    };
  };
  const before = await read();
  const startedAt = performance.now();
  const perSecond = await work();
  const ms = performance.now() - startedAt;
  const cores = Object.entries(await read())
    .map(([name, total]) => `${name} ${((total - (before[name] ?? 0)) / ms).toFixed(2)}`)
    .join(', ');
  return { perSecond, cores };
}

/** While a relay in a process of its own serves the topic. */
async function withRelay(
  servers: Servers,
  node: string,
  topic: string,
  work: (relay: ContenderProcess) => Promise<void>,
): Promise<void> {
  const relay = await openContender(servers, { name: 'ours', node, setting }, { topic });
  try {
    await relay.ask('start', null);
    await work(relay);
    await relay.stop();
  } finally {
    relay.kill();
  }
}

/** Connections that commit a business row and a message, one transaction after the other. */
class Committers {
  readonly #pool: pg.Pool;
  readonly #client: ReturnType<typeof clientOf<pg.PoolClient>>;
  readonly #target: BodyTopic;
  committed = 0;

  constructor(databaseUrl: string, target: BodyTopic) {
    // One more for nudges.
    this.#pool = new pg.Pool({ connectionString: databaseUrl, max: connections + 1 });
    this.#client = clientOf(this.#pool);
    this.#target = target;
  }

  /** @returns commits per second */
  async run(ms: number): Promise<number> {
    const startedAt = performance.now();
    const before = this.committed;
    const commit = async (): Promise<void> => {
      while (performance.now() - startedAt < ms) {
        await this.#one();
        this.committed += 1;
      }
    };
    await Promise.all(Array.from({ length: connections }, commit));
    return Math.round(((this.committed - before) * 1_000) / (performance.now() - startedAt));
  }

  #one(): Promise<unknown> {
    return transaction(this.#client, async (tx) => {
      await tx.query('insert into committed (n, text) values ($1, $2)', [this.committed, body.text]);
      return send(tx, this.#target, body, { key: `key-${randomUUID().slice(0, 3)}` });
    });
  }

  close(): Promise<void> {
    return this.#pool.end();
  }
}

/** Of storing, and of everything from then until the contender has stopped. Vacuum and archive are no part of it. */
async function walOf(servers: Servers, entry: Entry, count: number): Promise<WalFigures> {
  const { arrivals, database } = servers;
  return withContender(servers, entry, { noting: false }, async (contender, topic) => {
    // The first change of a page after a checkpoint writes all of it: both begin with one.
    await database.query('checkpoint');
    const before = await walBytes(database);
    await contender.ask('fill', { count });
    const filled = await walBytes(database);
    await contender.ask('start', null);
    await untilArrived(arrivals, topic, count);
    await contender.stop();
    const stopped = await walBytes(database);
    await arrivals.read(topic, count);
    return {
      stored: Math.round((filled - before) / count),
      delivered: Math.round((stopped - filled) / count),
    };
  });
}
