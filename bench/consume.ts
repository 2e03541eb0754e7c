import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { consumer } from '../src/config/consumer.ts';
import type { PrismaClient } from '../src/demo/generated/client.ts';
import { kafka } from '../src/transports/kafka/kafka-transport.ts';
import { consumeBare } from './consume-bare.ts';
import { type Arrivals, fillTopic, makeEffectTable, prismaOf, rewind } from './consume-load.ts';
import type { Stage } from './workload.ts';

export interface ConsumeSizes {
  readonly rounds: number;
  readonly batched: number;
  readonly single: number;
  readonly replayed: number;
  readonly remembered: number;
}

/** Messages per second from Kafka into the database, each with its id: medians. */
export interface ConsumeFigures {
  readonly batch: number;
  readonly bareBatch: number;
  readonly single: number;
  readonly bareSingle: number;
  /** Of messages that were processed before. */
  readonly replay: number;
  readonly replaySingle: number;
  /** Heap of the process while it handled so many messages in batches: after a tenth of them, and the most after that. */
  readonly memory: { readonly messages: number; readonly earlyMb: number; readonly latestMb: number };
}

const batchSize = 1_000;

/** How ours is run: which group, in batches or not, and until how many have come through. */
interface Run {
  readonly group: string;
  readonly batch: boolean;
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
    // Connections, compiled queries and warm pages are nobody's merit.
    await consumeOurs(stage, prisma, few, { group: randomUUID(), batch: true });
    await consumeBare(stage, prisma, few, { batch: batchSize });
    const rates = { batch: [], bareBatch: [], single: [], bareSingle: [] } as Record<string, number[]>;
    for (let round = 1; round <= sizes.rounds; round += 1) {
      rates['batch']?.push(await consumeOurs(stage, prisma, many, { group: randomUUID(), batch: true }));
      rates['bareBatch']?.push(await consumeBare(stage, prisma, many, { batch: batchSize }));
      rates['single']?.push(await consumeOurs(stage, prisma, few, { group: randomUUID(), batch: false }));
      rates['bareSingle']?.push(await consumeBare(stage, prisma, few, { batch: undefined }));
      const last = Object.entries(rates).map(([name, values]) => `${name} ${values.at(-1)}/s`);
      tell(`consume, round ${round}: ${last.join(', ')}`);
    }
    const { replay, replaySingle } = await measureReplay(stage, prisma, sizes);
    tell(`replay of ${sizes.replayed}: ${replay}/s in batches, ${replaySingle}/s one by one`);
    const memory = await measureMemory(stage, prisma, sizes.remembered);
    tell(`memory over ${memory.messages}: ${memory.earlyMb} MB, then at most ${memory.latestMb} MB`);
    const of = (name: string): number => median(rates[name] ?? []);
    return {
      batch: of('batch'),
      bareBatch: of('bareBatch'),
      single: of('single'),
      bareSingle: of('bareSingle'),
      replay,
      replaySingle,
      memory,
    };
  } finally {
    await prisma.$disconnect();
  }
}

/** Everything that was processed arrives again and again. */
async function measureReplay(
  stage: Stage,
  prisma: PrismaClient,
  { replayed, rounds }: ConsumeSizes,
): Promise<Pick<ConsumeFigures, 'replay' | 'replaySingle'>> {
  const arrivals = await fillTopic(stage, replayed);
  const group = randomUUID();
  await consumeOurs(stage, prisma, arrivals, { group, batch: true });
  const again = async (batch: boolean): Promise<number> => {
    await rewind(stage, group, arrivals.topic.name);
    return consumeOurs(stage, prisma, arrivals, { group, batch, duplicates: true });
  };
  const inBatches: number[] = [];
  const oneByOne: number[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    inBatches.push(await again(true));
    oneByOne.push(await again(false));
  }
  return { replay: median(inBatches), replaySingle: median(oneByOne) };
}

/** What is alive after a collection, so that neither garbage nor the laziness of the heap counts. */
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
  await consumeOurs(stage, prisma, arrivals, { group: randomUUID(), batch: true, progress });
  return { messages, earlyMb, latestMb };
}

/** From the assignment of the partitions to the last message, so that joining the group counts for nobody. */
async function consumeOurs(
  stage: Stage,
  prisma: PrismaClient,
  { topic, count }: Arrivals,
  { group, batch, duplicates = false, progress }: Run,
): Promise<number> {
  let startedAt = 0;
  const made = consumer(prisma, {
    config: {
      database: { url: stage.databaseUrl },
      temporal: { address: stage.temporalAddress },
      topics: [topic],
      transports: { kafka: kafka({ brokers: stage.brokers }) },
    },
    group,
    ...(batch && { batch: { size: batchSize } }),
    report: ({ type }) => {
      if (type === 'assigned') startedAt ||= performance.now();
    },
  });
  if (batch)
    made.onBatch(topic, (tx, messages) =>
      tx.$executeRawUnsafe(
        'insert into effect (id, n, length) select * from unnest($1::text[], $2::integer[], $3::integer[])',
        messages.map(({ id }) => id),
        messages.map(({ payload }) => payload.n),
        messages.map(({ payload }) => payload.text.length),
      ),
    );
  else
    made.on(
      topic,
      (tx, { id, payload }) =>
        tx.$executeRaw`insert into effect (id, n, length) values (${id}, ${payload.n}, ${payload.text.length})`,
    );
  const running = await made.start();
  const done = (): number => {
    const counts = running.counts();
    return duplicates ? counts.duplicates : counts.processed;
  };
  while (done() < count) {
    await delay(5);
    progress?.(done());
  }
  const perSecond = Math.round((1_000 * count) / (performance.now() - startedAt));
  await running.stop();
  return perSecond;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
