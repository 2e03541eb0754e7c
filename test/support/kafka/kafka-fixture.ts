import { randomUUID } from 'node:crypto';
import type { Consumer, Kafka } from 'kafkajs';
import { inject } from 'vitest';
import { z } from 'zod';
import {
  type Operations,
  type OperationsConfig,
  operations,
} from '../../../src/app/operations/operations.ts';
import { kafka } from '../../../src/brokers/kafka/transport/kafka-transport.ts';
import { type Topic, topic } from '../../../src/core/topic.ts';
import { readInstallation } from '../../../src/store/installation/installation.ts';
import { type LaneFixture, laneFixture } from '../fixtures/lane-fixture.ts';
import { createTopic, observer } from './kafka-topic.ts';

/** A lane that delivers to the real Kafka, and the operations of its installation. */
export class KafkaFixture {
  readonly fixture: LaneFixture;
  readonly address: string;
  readonly topic: Topic;
  readonly broker: Kafka;
  readonly config: OperationsConfig;
  readonly operations: Operations;
  readonly source: string;
  readonly #transport: ReturnType<typeof kafka>;
  readonly #consumers: Consumer[] = [];

  constructor(fixture: LaneFixture, address: string, source: string) {
    this.fixture = fixture;
    this.address = address;
    this.source = source;
    this.topic = topic(fixture.topic, z.unknown(), { address });
    this.broker = observer(inject('kafkaBrokers'));
    this.#transport = kafka({ servers: inject('kafkaBrokers') });
    this.config = {
      database: { url: fixture.url },
      topics: [this.topic],
      // Under the transport name in the policy of the fixture's topic.
      transports: { scripted: this.#transport },
    };
    this.operations = operations(this.config);
  }

  static async create(partitions: number): Promise<KafkaFixture> {
    const address = await createTopic(observer(inject('kafkaBrokers')), { numPartitions: partitions });
    const fixture = await laneFixture({ address });
    return new KafkaFixture(fixture, address, `/outbox/${await readInstallation(fixture.database)}`);
  }

  /** Delivers what is ready to Kafka. */
  async deliver(): Promise<void> {
    const { name, rules } = this.topic;
    await this.fixture.drain({ source: this.source, route: { name, rules, transport: this.#transport } });
  }

  /** Joins a group and collects the messages it receives, as text. */
  async consume(group = `group-${randomUUID()}`): Promise<string[]> {
    const received: string[] = [];
    const consumer = this.broker.consumer({ groupId: group, metadataMaxAge: 500, maxWaitTimeInMs: 100 });
    this.#consumers.push(consumer);
    await consumer.connect();
    await consumer.subscribe({ topics: [this.address], fromBeginning: true });
    await consumer.run({
      autoCommitThreshold: 1,
      eachMessage: async ({ message }) => {
        received.push(String(JSON.parse(message.value?.toString() ?? '""')));
      },
    });
    return received;
  }

  async end(): Promise<void> {
    await Promise.all(this.#consumers.map((consumer) => consumer.disconnect()));
    await this.operations.close();
    await this.#transport.close();
    await this.fixture.drop();
  }
}
