import { randomUUID } from 'node:crypto';
import type { Kafka } from 'kafkajs';
import { inject } from 'vitest';
import { z } from 'zod';
import type { RelayConfig } from '../../src/config/config.ts';
import { consumer } from '../../src/config/consumer.ts';
import { type Topic, topic } from '../../src/core/topic.ts';
import type { PrismaClient } from '../../src/demo/generated/client.ts';
import type { RunningConsumer } from '../../src/inbox/consumer-interface.ts';
import type { ConsumerEvent } from '../../src/inbox/consumer-event.ts';
import type { ConsumerSettings } from '../../src/inbox/consumer-options.ts';
import type { InboxMessage } from '../../src/inbox/inbox-message.ts';
import { kafka } from '../../src/transports/kafka/kafka-transport.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { createTopic, observer } from './kafka-topic.ts';
import { openPrisma } from './prisma.ts';

/** The transaction of the generated client. */
export type ShopTransaction = Parameters<Parameters<PrismaClient['$transaction']>[0]>[0];

export interface Numbered {
  readonly n: number;
}

/** One record for the broker; what is left out is as the relay writes it. */
export interface NumberedRecord {
  readonly n: number;
  readonly partition?: number;
  /** @defaultValue one per partition */
  readonly key?: string | null;
  readonly id?: string;
  readonly headers?: { readonly [name: string]: string };
  readonly body?: string | null;
}

export interface ConsumeOptions extends Partial<ConsumerSettings> {
  /** Runs after the effect was written, in its transaction. */
  readonly afterEffect?: (message: InboxMessage<Numbered>) => void | Promise<void>;
}

/** A row of `outbox.parked`. */
export interface KeptRow {
  readonly id: string;
  readonly state: string;
  readonly reason: string | null;
  readonly attempts: number;
  readonly key: string | null;
  readonly n: number | null;
}

/** A consumer and what it told. */
export interface StagedConsumer extends RunningConsumer {
  readonly events: readonly ConsumerEvent[];
}

/**
 * A database, a topic of the broker, and handlers that write a row per call into the table `effect`: so an effect that
 * happens twice is two rows.
 */
export class InboxStage {
  readonly group = `group-${randomUUID()}`;
  readonly prisma: PrismaClient;
  readonly topic: Topic<Numbered>;
  readonly kafka: Kafka;
  readonly brokers: string;
  readonly #made: TestDatabase;
  readonly #temporalAddress: string;
  readonly #running: StagedConsumer[] = [];

  /** @param temporalAddress of the server that runs the workflows of parked keys */
  constructor(
    made: TestDatabase,
    brokers: string,
    address: string,
    temporalAddress: string = inject('temporalAddress'),
  ) {
    this.#temporalAddress = temporalAddress;
    this.brokers = brokers;
    this.#made = made;
    this.kafka = observer(brokers);
    this.prisma = openPrisma(made.url);
    this.topic = numbered(address);
  }

  /** @param brokers of another Kafka than that of the test run */
  static async create(partitions: number, brokers = inject('kafkaBrokers')): Promise<InboxStage> {
    const broker = observer(brokers);
    const made = await createTestDatabase();
    await made.database.query('create table effect (seq bigserial, n int, part int, consumer text)');
    return new InboxStage(made, brokers, await createTopic(broker, { numPartitions: partitions }));
  }

  get url(): string {
    return this.#made.url;
  }

  get config(): RelayConfig {
    return configOf(this.url, this.brokers, this.topic, this.#temporalAddress);
  }

  async publish(records: readonly NumberedRecord[]): Promise<void> {
    const producer = this.kafka.producer({ allowAutoTopicCreation: false });
    await producer.connect();
    const messages = records.map(
      ({ n, partition = 0, key = `key-${partition}`, id = randomUUID(), headers, body }) => ({
        partition,
        key,
        value: body === undefined ? JSON.stringify({ n }) : body,
        headers: headers ?? { ce_id: id, ce_type: this.topic.name, ce_time: '2026-01-02T03:04:05.000Z' },
      }),
    );
    await producer.send({ topic: this.topic.rules.address, messages });
    await producer.disconnect();
  }

  async consume(name: string, options: ConsumeOptions = {}): Promise<StagedConsumer> {
    const { afterEffect, ...settings } = options;
    const events: ConsumerEvent[] = [];
    const running = await consumer(this.prisma, {
      config: this.config,
      group: this.group,
      // So that a test can tell the order of everything; keys side by side have tests of their own.
      keyConcurrency: 1,
      report: (event) => events.push(event),
      ...settings,
    })
      .on(this.topic, async (tx, message) => {
        await writeEffect(tx, name, message);
        await afterEffect?.(message);
      })
      .start();
    const staged = { ...running, events };
    this.#running.push(staged);
    return staged;
  }

  /** The effects in the order in which they were written, of one partition or of all. */
  async effects(partition?: number): Promise<number[]> {
    const rows = await this.#made.database.query<{ n: number }>(
      'select n from effect where $1::int is null or part = $1 order by seq',
      [partition ?? null],
    );
    return rows.map(({ n }) => n);
  }

  async effectsBy(name: string): Promise<number> {
    const [row] = await this.#made.database.query<{ count: number }>(
      'select count(*)::integer as count from effect where consumer = $1',
      [name],
    );
    return row?.count ?? 0;
  }

  /** Messages that the group keeps, with their states, in the order in which they came. */
  kept(): Promise<readonly KeptRow[]> {
    return this.#made.database.query<KeptRow>(
      `select message_id as id, state, reason, attempts, key, (convert_from(body, 'UTF8')::json ->> 'n')::int as n
       from outbox.parked where consumer_group = $1 order by position`,
      [this.group],
    );
  }

  parkedKeys(): Promise<readonly { readonly id: string; readonly workflowId: string }[]> {
    return this.#made.database.query(
      'select id, workflow_id as "workflowId" from outbox.parked_key where consumer_group = $1',
      [this.group],
    );
  }

  async processedIds(): Promise<number> {
    const rows = await this.#made.database.query('select 1 from outbox.processed where consumer_group = $1', [
      this.group,
    ]);
    return rows.length;
  }

  /** Has everything that the group keeps lie there since this much longer. */
  async age(interval: string): Promise<void> {
    await this.#made.database.query(
      'update outbox.parked set updated_at = updated_at - $2::interval where consumer_group = $1',
      [this.group, interval],
    );
  }

  /** The offsets that the broker holds for the group, by partition; -1 where there is none. */
  async committedOffsets(): Promise<readonly number[]> {
    const admin = this.kafka.admin();
    await admin.connect();
    const [found] = await admin.fetchOffsets({ groupId: this.group, topics: [this.topic.rules.address] });
    await admin.disconnect();
    return (found?.partitions ?? [])
      .toSorted((a, b) => a.partition - b.partition)
      .map(({ offset }) => Number(offset));
  }

  /** Makes the broker deliver everything again. Nobody may be in the group. */
  async rewind(): Promise<void> {
    const admin = this.kafka.admin();
    await admin.connect();
    await admin.resetOffsets({ groupId: this.group, topic: this.topic.rules.address, earliest: true });
    await admin.disconnect();
  }

  async end(): Promise<void> {
    await Promise.all(this.#running.map((one) => one.stop()));
    await this.prisma.$disconnect();
    await this.#made.drop();
  }
}

export function numbered(address: string): Topic<Numbered> {
  return topic(address, z.object({ n: z.number() }));
}

/** @param temporal address of the server that runs the workflows of parked keys; left out where none is parked */
export function configOf(
  url: string,
  brokers: string,
  only: Topic<Numbered>,
  temporal?: string,
): RelayConfig {
  return {
    database: { url },
    temporal: temporal === undefined ? {} : { address: temporal },
    topics: [only],
    transports: { kafka: kafka({ brokers }) },
  };
}

export async function writeEffect(
  tx: ShopTransaction,
  name: string,
  { payload, partition }: InboxMessage<Numbered>,
): Promise<void> {
  await tx.$executeRaw`insert into effect (n, part, consumer) values (${payload.n}, ${partition}, ${name})`;
}

/** The numbers from `from` to `to`, both included. */
export function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}
