import { randomUUID } from 'node:crypto';
import { inject } from 'vitest';
import type { RelayConfig } from '../../src/config/config.ts';
import { consumer } from '../../src/config/consumer.ts';
import { migrateTopics } from '../../src/config/migrate-topics.ts';
import { type RunningRelay, startRelay } from '../../src/config/start-relay.ts';
import { receiptsAddress, writeReceipt } from '../../src/core/receipt.ts';
import type { Confirm, Topic } from '../../src/core/topic.ts';
import type { PrismaClient } from '../../src/demo/generated/client.ts';
import { send } from '../../src/index.ts';
import type { RunningConsumer } from '../../src/inbox/consumer-interface.ts';
import type { ConsumerEvent } from '../../src/inbox/consumer-event.ts';
import type { ConsumerSettings } from '../../src/inbox/consumer-options.ts';
import type { RelayEvent } from '../../src/relay/report.ts';
import type { Database } from '../../src/store/database.ts';
import { readInstallation } from '../../src/store/installation.ts';
import { kafkaOffsets } from '../../src/sources/kafka/committed-offsets.ts';
import { kafka, type KafkaTransport } from '../../src/transports/kafka/kafka-transport.ts';
import { confirmConfig, confirmingTopic } from './confirm-config.ts';
import { createTestDatabase } from './database.ts';
import { type Numbered, writeEffect } from './inbox-stage.ts';
import { readTopic } from './kafka-reader.ts';
import { createTopic, observer } from './kafka-topic.ts';
import { openPrisma } from './prisma.ts';
import { quietTemporal } from './stage.ts';
import { until } from './until.ts';

/** A message's row, as far as confirmation goes. */
export interface Stub {
  readonly n: number;
  readonly state: string;
  readonly sends: number;
  readonly offset: string | null;
  readonly confirmBy: Date | null;
}

/** What a test does to receipts on their way to the broker. */
export type ReceiptFate = 'kept' | 'refused' | 'vanished';

export interface ConsumeOptions
  extends Pick<ConsumerSettings, 'quickRetries' | 'retry' | 'transactionTimeout'> {
  /** The client of its inbox. @defaultValue one of the database that sends */
  readonly prisma?: PrismaClient;
  /** @defaultValue the group that the topic asks */
  readonly group?: string;
  /** Runs in the handler, before its effect. */
  readonly before?: (n: number) => Promise<void> | void;
  /** What becomes of receipts: `refused`, they stay with the consumer; `vanished`, it believes that they were kept. */
  readonly receipts?: () => ReceiptFate;
}

interface TestEnd {
  readonly onTestFinished: (work: () => Promise<void>) => void;
}

/** An installation whose topic asks for receipts, on real servers: a relay, and consumers in the same database. */
export class ConfirmStage {
  readonly group = `group-${randomUUID()}`;
  readonly url: string;
  readonly events: RelayEvent[] = [];
  readonly consumerEvents: ConsumerEvent[] = [];
  readonly config: RelayConfig;
  readonly topic: Topic<Numbered>;
  readonly database: Database;
  readonly installation: string;
  readonly #prisma: PrismaClient;
  readonly #context: TestEnd;

  constructor(
    context: TestEnd,
    made: { readonly url: string; readonly database: Database; readonly installation: string },
    address: string,
    confirm: Omit<Confirm, 'group'>,
  ) {
    this.#context = context;
    this.url = made.url;
    this.database = made.database;
    this.installation = made.installation;
    this.topic = confirmingTopic(address, { group: this.group, ...confirm });
    this.config = confirmConfig(made.url, inject('temporalAddress'), inject('kafkaBrokers'), this.topic);
    this.#prisma = openPrisma(made.url);
    context.onTestFinished(() => this.#prisma.$disconnect());
  }

  async relay(): Promise<RunningRelay> {
    const running = startRelay(this.config, { report: (event) => this.events.push(event) });
    this.#context.onTestFinished(() => running.stop());
    await running.ready;
    return running;
  }

  async consume({
    group = this.group,
    before,
    receipts = () => 'kept',
    prisma = this.#prisma,
    ...settings
  }: ConsumeOptions = {}): Promise<RunningConsumer> {
    const transports = { kafka: withReceipts(kafka({ brokers: inject('kafkaBrokers') }), receipts) };
    const running = await consumer(prisma, {
      // So that a test can tell the order of everything; keys side by side have tests of their own.
      keyConcurrency: 1,
      ...settings,
      config: { ...this.config, transports },
      group,
      report: (event) => this.consumerEvents.push(event),
    })
      .on(this.topic, async (tx, message) => {
        await before?.(message.payload.n);
        await writeEffect(tx, group, message);
      })
      .start();
    this.#context.onTestFinished(() => running.stop());
    return running;
  }

  /** Sends the numbers, each with a key of its own. */
  async send(...numbers: readonly number[]): Promise<void> {
    await this.#prisma.$transaction(async (tx) => {
      for (const n of numbers) await send(tx, this.topic, { n }, { key: `key-${n}` });
    });
  }

  /** The messages in the order of sending. */
  stubs(): Promise<readonly Stub[]> {
    return this.database.query<Stub>(
      `select (payload::json ->> 'n')::integer as n, state::text, sends, "offset", confirm_by as "confirmBy"
       from outbox.message_view order by created_at, position`,
    );
  }

  async states(): Promise<readonly string[]> {
    return (await this.stubs()).map(({ state }) => state);
  }

  /** Makes receipts overdue now: that of one number, in whatever state its message is, or all that are waited for. */
  async expire(n?: number): Promise<void> {
    await this.database.query(
      `update outbox.message set confirm_by = outbox.clock()
       where payload::json ->> 'n' = $1 or $1 is null and state = 'published' and confirm_by is not null`,
      [n === undefined ? null : String(n)],
    );
  }

  /** Waits until the group has committed everything that its topic holds. */
  async passedBeyondAll(): Promise<void> {
    const offsets = kafkaOffsets(kafka({ brokers: inject('kafkaBrokers') }).connection);
    await until(async () => {
      const { address } = this.topic.rules;
      const [passed, ends] = await Promise.all([
        offsets.committed(this.group, address),
        offsets.ends(address),
      ]);
      return passed.get(0) === ends.get(0);
    });
  }

  /** What was processed, in order: one row per effect. */
  async effects(): Promise<readonly number[]> {
    const rows = await this.database.query<{ n: number }>('select n from effect order by seq');
    return rows.map(({ n }) => n);
  }

  /** The ids that the group has in its log. */
  async log(): Promise<number> {
    const rows = await this.database.query('select from outbox.processed where consumer_group = $1', [
      this.group,
    ]);
    return rows.length;
  }

  /** How many records the topic has, repeats included. */
  async records(): Promise<number> {
    return (await readTopic(observer(inject('kafkaBrokers')), this.topic.rules.address)).length;
  }

  /** How often the relay told an event, messages counted. */
  told(type: 'messages-confirmed' | 'messages-resent' | 'messages-unconfirmed'): number {
    return this.events.reduce((sum, event) => (event.type === type ? sum + event.count : sum), 0);
  }

  /** Puts one record per id among the receipts, all in one partition, with other records if wanted. */
  async publishReceipts(ids: readonly string[], others: readonly string[] = []): Promise<void> {
    const receipts = ids.map((id) =>
      writeReceipt({ group: this.group, installation: this.installation, state: 'processed', ids: [id] }),
    );
    const producer = observer(inject('kafkaBrokers')).producer({ allowAutoTopicCreation: false });
    await producer.connect();
    await producer.send({
      topic: receiptsAddress,
      messages: [...others, ...receipts].map((value) => ({ key: this.group, value })),
    });
    await producer.disconnect();
  }

  async idOf(n: number): Promise<string> {
    const [row] = await this.database.query<{ id: string }>(
      `select id from outbox.message where payload::json ->> 'n' = $1`,
      [String(n)],
    );
    if (row === undefined) throw new Error(`There is no message ${n}.`);
    return row.id;
  }

  async ids(): Promise<readonly string[]> {
    const rows = await this.database.query<{ id: string }>('select id from outbox.message order by position');
    return rows.map(({ id }) => id);
  }
}

/** Sets a stage of one partition, so that the order of everything is known. */
export async function confirmStage(
  context: TestEnd,
  confirm: Omit<Confirm, 'group'> = { within: '1s' },
): Promise<ConfirmStage> {
  quietTemporal();
  const made = await createTestDatabase();
  context.onTestFinished(() => made.drop());
  await made.database.query('create table effect (seq bigserial, n int, part int, consumer text)');
  const address = await createTopic(observer(inject('kafkaBrokers')), { numPartitions: 1 });
  const installation = await readInstallation(made.database);
  const stage = new ConfirmStage(context, { ...made, installation }, address, confirm);
  await migrateTopics(stage.config);
  return stage;
}

/** The real transport, except for what happens to receipts. */
function withReceipts(real: KafkaTransport, fate: () => ReceiptFate): KafkaTransport {
  return {
    ...real,
    publish: async (batch) => {
      if (batch.address !== receiptsAddress || fate() === 'kept') return real.publish(batch);
      if (fate() === 'refused') throw new Error('the receipt was refused by the test');
      return { outcomes: batch.messages.map(() => ({ kind: 'acknowledged', partition: 0, offset: '0' })) };
    },
  };
}
