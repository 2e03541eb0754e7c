import { randomUUID } from 'node:crypto';
import { PrismaPg } from '@prisma/adapter-pg';
import { Kafka, logLevel, type Producer } from 'kafkajs';
import { z } from 'zod';
import { PrismaClient } from '../dev/generated/shop/client.ts';
import { type Topic, topic } from '../src/core/topic.ts';
import { type Stage, warmUpShare } from './workload.ts';

export interface Payload {
  readonly n: number;
  readonly text: string;
}

export type PayloadTopic = Topic<Payload>;

export const partitions = 4;
const keys = 1_000;
const perSend = 2_000;
/** With the number, about 250 bytes when serialized. */
const text = 'x'.repeat(226);

export interface Arrivals {
  readonly topic: PayloadTopic;
  readonly count: number;
}

/** A topic whose messages are a {@link Payload} each. */
export function payloadTopic(name: string): PayloadTopic {
  return topic(name, z.object({ n: z.number(), text: z.string() }), { transport: 'kafka' });
}

/** Publishes messages to a new Kafka topic like a relay. */
export async function fillTopic(stage: Stage, count: number): Promise<Arrivals> {
  const made = payloadTopic(`consume-${randomUUID().slice(0, 8)}`);
  const kafka = kafkaOf(stage);
  const admin = kafka.admin();
  await admin.connect();
  await admin.createTopics({
    waitForLeaders: true,
    topics: [{ topic: made.name, numPartitions: partitions }],
  });
  await admin.disconnect();
  const producer = kafka.producer({ allowAutoTopicCreation: false });
  await producer.connect();
  for (let sent = 0; sent < count; sent += perSend)
    await send(producer, made.name, sent, Math.min(perSend, count - sent));
  await producer.disconnect();
  return { topic: made, count };
}

async function send(producer: Producer, name: string, from: number, count: number): Promise<void> {
  const source = `/outbox/${randomUUID()}`;
  const messages = Array.from({ length: count }, (_, index) => {
    const n = from + index;
    const key = `key-${n % keys}`;
    return {
      key,
      partition: n % partitions,
      value: JSON.stringify({ n, text }),
      headers: {
        ce_specversion: '1.0',
        ce_id: uuidV7(),
        ce_source: source,
        ce_type: name,
        ce_time: '2026-01-02T03:04:05.678Z',
        'content-type': 'application/json',
      },
    };
  });
  await producer.send({ topic: name, messages });
}

/** Measures the rate of consumption, from the end of the warm-up to the last message. */
export class Pace {
  readonly #count: number;
  #from: { readonly done: number; readonly at: number } | undefined;

  constructor(count: number) {
    this.#count = count;
  }

  /**
   * Must be called repeatedly with the number of messages done.
   *
   * @returns messages per second, after the last one
   */
  reached(done: number): number | undefined {
    const now = performance.now();
    if (done >= warmUpShare * this.#count) this.#from ??= { done, at: now };
    if (this.#from === undefined || done < this.#count) return undefined;
    return Math.round((1_000 * (done - this.#from.done)) / (now - this.#from.at));
  }
}

/** Makes the next member of a group begin with the oldest message. The group must have no members. */
export async function rewind(stage: Stage, group: string, name: string): Promise<void> {
  const admin = kafkaOf(stage).admin();
  await admin.connect();
  await admin.resetOffsets({ groupId: group, topic: name, earliest: true });
  await admin.disconnect();
}

export function kafkaOf({ brokers }: Stage): Kafka {
  return new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING });
}

export function prismaOf({ databaseUrl }: Pick<Stage, 'databaseUrl'>): PrismaClient {
  return new PrismaClient({ adapter: new PrismaPg({ connectionString: databaseUrl, max: 20 }) });
}

/** What every handler writes: a row per message. */
export async function makeEffectTable({ database }: Stage): Promise<void> {
  await database.query('drop table if exists effect, bare_processed');
  await database.query('create table effect (id text not null, n integer not null, length integer not null)');
  await database.query(
    `create table bare_processed (consumer_group text collate "C", message_id text collate "C", topic text collate "C",
       processed_at timestamptz not null default now(), primary key (consumer_group, message_id))`,
  );
}

/** The effects of many messages, in one statement. */
export function writeEffects(
  tx: Pick<PrismaClient, '$executeRawUnsafe'>,
  messages: readonly { readonly id: string; readonly payload: Payload }[],
): Promise<number> {
  return tx.$executeRawUnsafe(
    'insert into effect (id, n, length) select * from unnest($1::text[], $2::integer[], $3::integer[])',
    messages.map(({ id }) => id),
    messages.map(({ payload }) => payload.n),
    messages.map(({ payload }) => payload.text.length),
  );
}

/** An id as the outbox generates them: ordered by time. */
function uuidV7(): string {
  const time = Date.now().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}
