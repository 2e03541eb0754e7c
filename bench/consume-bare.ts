import { randomUUID } from 'node:crypto';
import type { EachBatchPayload, KafkaMessage } from 'kafkajs';
import type { PrismaClient } from '../dev/generated/shop/client.ts';
import { type Arrivals, kafkaOf, Pace, type Payload, partitions, writeEffects } from './consume-load.ts';
import type { Stage } from './workload.ts';

interface Parsed {
  readonly id: string;
  readonly payload: Payload;
}

/** Writes the ids and the effects of messages in one transaction. */
type Write = (
  prisma: PrismaClient,
  group: string,
  topic: string,
  messages: readonly Parsed[],
) => Promise<void>;

const writeOne: Write = async (prisma, group, topic, messages) => {
  for (const { id, payload } of messages)
    await prisma.$transaction(async (tx) => {
      const added =
        await tx.$executeRaw`insert into bare_processed (consumer_group, message_id, topic) values (${group}, ${id}, ${topic}) on conflict do nothing`;
      if (added === 1)
        await tx.$executeRaw`insert into effect (id, n, length) values (${id}, ${payload.n}, ${payload.text.length})`;
    });
};

const writeAll: Write = async (prisma, group, topic, messages) => {
  await prisma.$transaction(async (tx) => {
    const added = await tx.$queryRawUnsafe<{ id: string }[]>(
      `insert into bare_processed (consumer_group, message_id, topic) select $1, u.id, $2 from unnest($3::text[]) u (id)
       on conflict do nothing returning message_id as id`,
      group,
      topic,
      messages.map(({ id }) => id),
    );
    const fresh = new Set(added.map(({ id }) => id));
    const those = messages.filter(({ id }) => fresh.has(id));
    await writeEffects(tx, those);
  });
};

/** How the bare loop works: so many messages in a transaction, or one each, with so many transactions at once in each partition. */
export type BareMode = { readonly batch: number } | { readonly atOnce: number };

/** Messages per second of a plain kafkajs loop that writes the same; of transactions at once it keeps no order. */
export async function consumeBare(
  stage: Stage,
  prisma: PrismaClient,
  { topic, count }: Arrivals,
  mode: BareMode,
): Promise<number> {
  const groupId = randomUUID();
  const consumer = kafkaOf(stage).consumer({
    groupId,
    maxWaitTimeInMs: 250,
    maxBytesPerPartition: 'batch' in mode ? 1024 * 1024 : 512 * 1024,
    allowAutoTopicCreation: false,
  });
  const pace = new Pace(count);
  let done = 0;
  let finish: (perSecond: number) => void = () => undefined;
  const finished = new Promise<number>((resolve) => {
    finish = resolve;
  });
  const size = 'batch' in mode ? mode.batch : 1;
  const write = 'batch' in mode ? writeAll : writeOne;
  const take = async (payload: EachBatchPayload): Promise<void> => {
    const { messages } = payload.batch;
    let perSecond: number | undefined;
    let from = 0;
    const work = async (): Promise<void> => {
      while (from < messages.length) {
        const some = messages.slice(from, from + size);
        from += size;
        await write(prisma, groupId, topic.name, some.map(parsed));
        await payload.heartbeat();
        done += some.length;
        perSecond = pace.reached(done) ?? perSecond;
      }
    };
    await Promise.all(Array.from({ length: 'batch' in mode ? 1 : mode.atOnce }, work));
    payload.resolveOffset(messages.at(-1)?.offset ?? '0');
    await payload.commitOffsetsIfNecessary(payload.uncommittedOffsets());
    if (perSecond !== undefined) finish(perSecond);
  };
  await consumer.connect();
  await consumer.subscribe({ topics: [topic.name], fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachBatchAutoResolve: false,
    partitionsConsumedConcurrently: partitions,
    eachBatch: take,
  });
  const perSecond = await finished;
  await consumer.disconnect();
  return perSecond;
}

function parsed({ headers, value }: KafkaMessage): Parsed {
  return { id: String(headers?.['ce_id']), payload: JSON.parse(String(value)) as Payload };
}
