import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Kafka, logLevel } from 'kafkajs';
import { startRelay } from '../src/app/relay/start-relay.ts';
import { kafka } from '../src/brokers/kafka/transport/kafka-transport.ts';
import type { Transport } from '../src/brokers/transport.ts';
import type { Servers } from './contenders/arena.ts';
import { processorTimes, type ServerPids } from './contenders/processor-time.ts';
import type { Percentiles } from './contenders/protocol.ts';
import { percentiles, wallClock } from './contenders/serve.ts';
import { announceTopic, type BodyTopic, body, type Stage } from './workload.ts';

/** A transport, and when its broker acknowledges each message, by the clock of this process. */
interface Noting {
  readonly transport: Transport;
  acknowledged(id: string): Promise<number>;
}

export interface IdleSizes {
  readonly topics: number;
  /** How long each topic gets a message every second, and how long none comes after that. */
  readonly warmUpSeconds: number;
  readonly busySeconds: number;
  readonly quietSeconds: number;
  /** Messages to lanes whose workflow has ended, one after another. */
  readonly cold: number;
}

export interface IdleFigures {
  /** From commit to Kafka in ms: a message a second to each topic, and to lanes without a workflow. */
  readonly many: Percentiles;
  readonly cold: Percentiles;
  /** Cores that this process and PostgreSQL use, in both phases. */
  readonly busyCores: number;
  readonly quietCores: number;
}

/** What few messages cost, and none; and how late the first one is after a rest. */
export async function measureIdle(
  { pids: { postgres = 0 }, ...stage }: Servers,
  sizes: IdleSizes,
  tell: (line: string) => void,
): Promise<IdleFigures> {
  const noted = noting(kafka({ servers: stage.brokers }));
  const topics = await createTopics(stage, sizes.topics);
  const relay = startRelay({
    database: { url: stage.databaseUrl },
    temporal: { address: stage.temporalAddress },
    topics,
    transports: { kafka: noted.transport },
  });
  await relay.ready;
  try {
    // Lanes that waited for each other's first message would be quiet again.
    const first = await sendEvenly(stage, noted, topics, sizes.topics * sizes.warmUpSeconds);
    const busyFrom = used({ postgres });
    const sent = await sendEvenly(stage, noted, topics, sizes.topics * sizes.busySeconds);
    const many = percentiles(await Promise.all(sent));
    await Promise.all(first);
    const busyCores = coresSince(busyFrom, { postgres });
    tell(`${sizes.topics} topics, 1/s each: p50 ${many.p50} ms, p99 ${many.p99} ms, ${busyCores} cores`);
    // Lanes are quiet after five seconds, and looks are rare then.
    await delay(8_000);
    const quietFrom = used({ postgres });
    await delay(sizes.quietSeconds * 1_000);
    const quietCores = coresSince(quietFrom, { postgres });
    tell(`none for ${sizes.quietSeconds} s: ${quietCores} cores`);
    const late: number[] = [];
    for (const target of topics.slice(0, sizes.cold)) late.push(await sendOne(stage, noted, target));
    const cold = percentiles(late);
    tell(`cold lanes: p50 ${cold.p50} ms, p99 ${cold.p99} ms`);
    return { many, cold, busyCores, quietCores };
  } finally {
    await relay.stop();
    await noted.transport.close();
  }
}

/** Here and on the broker. */
async function createTopics(stage: Stage, count: number): Promise<BodyTopic[]> {
  const topics: BodyTopic[] = [];
  for (let n = 0; n < count; n += 1)
    topics.push(await announceTopic(stage.database, `idle-${n}-${randomUUID().slice(0, 8)}`, {}));
  const admin = new Kafka({ brokers: [...stage.brokers], logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  await admin.createTopics({ waitForLeaders: true, topics: topics.map(({ name }) => ({ topic: name })) });
  await admin.disconnect();
  return topics;
}

function noting(transport: Transport): Noting {
  const acknowledgedAt = new Map<string, number>();
  const waiting = new Map<string, (at: number) => void>();
  return {
    acknowledged: (id) =>
      new Promise((resolve) => {
        const at = acknowledgedAt.get(id);
        if (at === undefined) waiting.set(id, resolve);
        else resolve(at);
      }),
    transport: {
      ...transport,
      async publish(batch) {
        const result = await transport.publish(batch);
        const now = wallClock();
        for (const [index, { id }] of batch.messages.entries()) {
          if (result.outcomes[index]?.kind !== 'acknowledged') continue;
          acknowledgedAt.set(id, now);
          waiting.get(id)?.(now);
        }
        return result;
      },
    },
  };
}

/** To the topics in turn, 1 a second to each. @returns how late each is, once it is known */
async function sendEvenly(
  stage: Stage,
  noted: Noting,
  topics: readonly BodyTopic[],
  count: number,
): Promise<readonly Promise<number>[]> {
  const startedAt = performance.now();
  const late: Promise<number>[] = [];
  for (let n = 0; n < count; n += 1) {
    await delay(Math.max(0, startedAt + (n * 1_000) / topics.length - performance.now()));
    const target = topics[n % topics.length];
    if (target !== undefined) late.push(sendOne(stage, noted, target));
  }
  return late;
}

/** @returns milliseconds from the commit to the acknowledgement */
async function sendOne(stage: Stage, noted: Noting, target: BodyTopic): Promise<number> {
  const [row] = await stage.database.query<{ id: string }>('select id::text from outbox.send($1, $2)', [
    target.name,
    JSON.stringify(body),
  ]);
  const committedAt = wallClock();
  if (row === undefined) throw new Error('Nothing was stored.');
  return (await noted.acknowledged(row.id)) - committedAt;
}

interface Used {
  readonly atMs: number;
  readonly cpuMs: number;
}

/** Processor time so far. */
function used(pids: ServerPids): Used {
  const { user, system } = process.cpuUsage();
  const servers = Object.values(processorTimes(pids)).reduce((sum, ms) => sum + ms, 0);
  return { atMs: performance.now(), cpuMs: (user + system) / 1_000 + servers };
}

function coresSince(before: Used, pids: ServerPids): number {
  const now = used(pids);
  return Math.round((1_000 * (now.cpuMs - before.cpuMs)) / (now.atMs - before.atMs)) / 1_000;
}
