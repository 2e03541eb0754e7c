import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type Admin, Kafka, logLevel } from 'kafkajs';
import { withoutIdleTimers } from '../../src/brokers/kafka/client/idle-timers.ts';
import { kafkaTransport } from '../../src/brokers/kafka/transport/kafka-transport.ts';
import { type Appended, timesOfEachOnce } from './validity.ts';

const partitions = 4;
const servedWithinMs = 10_000;
const askEveryMs = 50;

/** The Kafka topics that contenders fill, and what arrived there by the broker's own clock. */
export class Arrivals {
  readonly #brokers: readonly string[];
  readonly #admin: Admin;

  constructor(brokers: readonly string[]) {
    this.#brokers = brokers;
    // Its timers would count as those of what is measured beside it.
    this.#admin = withoutIdleTimers(new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING })).admin();
  }

  connect(): Promise<void> {
    return this.#admin.connect();
  }

  /** A new topic whose records get the time at which the broker appended them: the same clock for all contenders. */
  async createTopic(name: string): Promise<string> {
    const topic = `${name.toLowerCase()}-${randomUUID().slice(0, 8)}`;
    await this.#admin.createTopics({
      // kafkajs gives up when the broker does not know the topic yet.
      waitForLeaders: false,
      topics: [
        {
          topic,
          numPartitions: partitions,
          configEntries: [{ name: 'message.timestamp.type', value: 'LogAppendTime' }],
        },
      ],
    });
    await this.#served(topic);
    return topic;
  }

  async #served(topic: string): Promise<void> {
    const until = performance.now() + servedWithinMs;
    for (;;) {
      try {
        await this.#admin.fetchTopicOffsets(topic);
        return;
      } catch (error) {
        if (performance.now() > until) throw error;
        await delay(askEveryMs);
      }
    }
  }

  /** Records of a topic, by its offsets. */
  async count(topic: string): Promise<number> {
    const offsets = await this.#admin.fetchTopicOffsets(topic);
    return offsets.reduce((sum, { high, low }) => sum + Number(high) - Number(low), 0);
  }

  /**
   * When each record was appended, in ms since 1970, ascending.
   *
   * @throws Error if the topic does not have `count` records with as many different ids: then a figure would mean nothing
   */
  async read(topic: string, count: number): Promise<readonly number[]> {
    const log = await kafkaTransport({ servers: this.#brokers }).deliveryLog.open([topic], null);
    const appended: Appended[] = [];
    for await (const records of log.records()) for (const { at, id } of records) appended.push({ at, id });
    return timesOfEachOnce(topic, appended, count);
  }

  /** So that the broker's disk and memory hold one run's records at a time. */
  async deleteTopic(topic: string): Promise<void> {
    await this.#admin.deleteTopics({ topics: [topic] });
  }

  close(): Promise<void> {
    return this.#admin.disconnect();
  }
}
