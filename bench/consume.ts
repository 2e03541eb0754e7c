import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { PrismaClient } from '../dev/generated/shop/client.ts';
import { consumer } from '../src/app/consumer/consumer.ts';
import { kafka } from '../src/brokers/kafka/transport/kafka-transport.ts';
import { consumeBare } from './consume-bare.ts';
import {
  type Arrivals,
  fillTopic,
  makeEffectTable,
  Pace,
  prismaOf,
  rewind,
  writeEffects,
} from './consume-load.ts';
import { overall, type Stage } from './workload.ts';

export interface ConsumeSizes {
  readonly rounds: number;
  readonly batched: number;
  readonly single: number;
  readonly remembered: number;
}

/** Messages per second from Kafka into the database, each with its id: over all rounds. */
export interface ConsumeFigures {
  readonly batch: number;
  readonly bareBatch: number;
  /** A transaction each, two at once in each partition, which is the consumer's default. */
  readonly single: number;
  readonly bareSingle: number;
  /** The same with sixteen at once. */
  readonly single16: number;
  readonly bareSingle16: number;
  /** For messages that were processed before. */
  readonly replay: number;
  /**
   * Heap of the process while it handled this many messages in batches: after a tenth of them, and the maximum after
   * that.
   */
  readonly memory: { readonly messages: number; readonly earlyMb: number; readonly latestMb: number };
}

const batchSize = 1_000;
/** More often would affect the result; less often would be less exact. */
const lookEveryMs = 20;
/**
 * Variants that are compared run one after another, and the shortest ones twice, because the speed of the machine may
 * change within minutes.
 */
const order = [
  'single',
  'bareSingle',
  'single16',
  'bareSingle16',
  'bareBatch',
  'batch',
  'replay',
  'bareSingle16',
  'single16',
  'bareSingle',
  'single',
] as const;
type Rate = (typeof order)[number];

/** Options of one run of the consumer of the library. */
interface Run {
  readonly group: string;
  /** Messages of a partition at once, each in its transaction; `undefined`: a transaction for many. */
  readonly atOnce?: number;
  readonly duplicates?: boolean;
  readonly progress?: (done: number) => void;
}

export async function measureConsume(
  stage: Stage,
  sizes: ConsumeSizes,
  tell: (line: string) => void,
): Promise<ConsumeFigures> {
  const prisma = prismaOf(stage);
  await makeEffectTable(stage);
  try {
    const many = await fillTopic(stage, sizes.batched);
    const few = await fillTopic(stage, sizes.single);
    // So that warm connections and pages do not affect the first.
    await consumeOurs(stage, prisma, few, { group: randomUUID(), atOnce: 2 });
    await consumeBare(stage, prisma, few, { atOnce: 2 });
    const rates = new Map<Rate, number[]>(order.map((name) => [name, []]));
    for (let round = 1; round <= sizes.rounds; round += 1) {
      const runs = runsOf(stage, prisma, { many, few });
      const last: string[] = [];
      for (const name of order) {
        const perSecond = await runs[name]();
        rates.get(name)?.push(perSecond);
        last.push(`${name} ${perSecond}/s`);
      }
      tell(`consume, round ${round}: ${last.join(', ')}`);
    }
    const memory = await measureMemory(stage, prisma, sizes.remembered);
    tell(`memory over ${memory.messages}: ${memory.earlyMb} MB, then at most ${memory.latestMb} MB`);
    const of = (name: Rate): number => overall(rates.get(name) ?? []);
    return {
      batch: of('batch'),
      bareBatch: of('bareBatch'),
      single: of('single'),
      bareSingle: of('bareSingle'),
      single16: of('single16'),
      bareSingle16: of('bareSingle16'),
      replay: of('replay'),
      memory,
    };
  } finally {
    await prisma.$disconnect();
  }
}

/** One round. The replay repeats what the round has processed in batches. */
function runsOf(
  stage: Stage,
  prisma: PrismaClient,
  { many, few }: { readonly many: Arrivals; readonly few: Arrivals },
): Record<Rate, () => Promise<number>> {
  const group = randomUUID();
  const single = (atOnce: number) => () => consumeOurs(stage, prisma, few, { group: randomUUID(), atOnce });
  const bareSingle = (atOnce: number) => () => consumeBare(stage, prisma, few, { atOnce });
  return {
    single: single(2),
    bareSingle: bareSingle(2),
    single16: single(16),
    bareSingle16: bareSingle(16),
    bareBatch: () => consumeBare(stage, prisma, many, { batch: batchSize }),
    batch: () => consumeOurs(stage, prisma, many, { group }),
    replay: async () => {
      await rewind(stage, group, many.topic.name);
      return consumeOurs(stage, prisma, many, { group, duplicates: true });
    },
  };
}

/** Live heap after a collection, so that garbage does not count. */
async function measureMemory(
  stage: Stage,
  prisma: PrismaClient,
  messages: number,
): Promise<ConsumeFigures['memory']> {
  const arrivals = await fillTopic(stage, messages);
  setFlagsFromString('--expose-gc');
  let earlyMb = 0;
  let latestMb = 0;
  let next = messages / 10;
  const progress = (done: number): void => {
    if (done < next) return;
    next += messages / 10;
    runInNewContext('gc()');
    const mb = Math.round(process.memoryUsage().heapUsed / 1_048_576);
    if (earlyMb === 0) earlyMb = mb;
    else latestMb = Math.max(latestMb, mb);
  };
  await consumeOurs(stage, prisma, arrivals, { group: randomUUID(), progress });
  return { messages, earlyMb, latestMb };
}

/** Messages per second of a consumer of the library. */
async function consumeOurs(
  stage: Stage,
  prisma: PrismaClient,
  { topic, count }: Arrivals,
  { group, atOnce, duplicates = false, progress }: Run,
): Promise<number> {
  const made = consumer(prisma, {
    config: {
      database: { url: stage.databaseUrl },
      temporal: { address: stage.temporalAddress },
      topics: [topic],
      transports: { kafka: kafka({ servers: stage.brokers }) },
    },
    group,
    ...(atOnce === undefined ? { batch: { size: batchSize } } : { keyConcurrency: atOnce }),
  });
  if (atOnce === undefined) made.onBatch(topic, writeEffects);
  else
    made.on(
      topic,
      (tx, { id, payload }) =>
        tx.$executeRaw`insert into effect (id, n, length) values (${id}, ${payload.n}, ${payload.text.length})`,
    );
  const running = await made.start();
  const done = (): number => {
    const counts = running.counts();
    return duplicates ? counts.duplicates : counts.handled;
  };
  const pace = new Pace(count);
  let perSecond: number | undefined;
  while (perSecond === undefined) {
    await delay(lookEveryMs);
    progress?.(done());
    perSecond = pace.reached(done());
  }
  await running.stop();
  return perSecond;
}
