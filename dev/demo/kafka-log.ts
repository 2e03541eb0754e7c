import { randomUUID } from 'node:crypto';
import { type Admin, type EachBatchPayload, Kafka, type KafkaMessage, logLevel } from 'kafkajs';
import { withoutIdleTimers } from '../../src/brokers/kafka/client/idle-timers.ts';
import type { AuditRecord } from './judge-log.ts';
import { until } from './until.ts';

const readWithinMs = 30_000;

/** Reads Kafka for the audit, by a client that shares no code with the audited transport. */
export class KafkaLog {
  readonly #kafka: Kafka;

  constructor(brokers: readonly string[]) {
    this.#kafka = withoutIdleTimers(
      new Kafka({ brokers: [...brokers], clientId: 'demo-auditor', logLevel: logLevel.NOTHING }),
    );
  }

  /** Creates topics whose timestamps are set by the broker (LogAppendTime), not by the producer. */
  async createTopics(topics: readonly string[], partitions: number): Promise<void> {
    await this.#withAdmin(async (admin) => {
      await admin.createTopics({
        waitForLeaders: true,
        topics: topics.map((topic) => ({
          topic,
          numPartitions: partitions,
          configEntries: [{ name: 'message.timestamp.type', value: 'LogAppendTime' }],
        })),
      });
    });
  }

  /** The number of records in a topic. */
  async size(topic: string): Promise<number> {
    const ends = await this.#withAdmin((admin) => admin.fetchTopicOffsets(topic));
    return ends.reduce((sum, { high, low }) => sum + Number(high) - Number(low), 0);
  }

  /** Reads all current records of the topics, in order per partition. */
  async read(topics: readonly string[], signal: AbortSignal): Promise<readonly AuditRecord[]> {
    const missing = await this.#ends(topics);
    if (missing.size === 0) return [];
    const records: AuditRecord[] = [];
    const consumer = this.#kafka.consumer({ groupId: `demo-auditor-${randomUUID()}` });
    const take = ({ batch }: EachBatchPayload): void => {
      const name = `${batch.topic}/${batch.partition}`;
      const end = missing.get(name);
      if (end === undefined) return;
      for (const message of batch.messages) {
        if (BigInt(message.offset) < end) records.push(recordOf(batch.topic, batch.partition, message));
      }
      if (BigInt(batch.lastOffset()) + 1n >= end) missing.delete(name);
    };
    try {
      await consumer.connect();
      await consumer.subscribe({ topics: [...topics], fromBeginning: true });
      await consumer.run({ eachBatch: async (payload) => take(payload) });
      await until("Kafka's log is read to its end", () => missing.size === 0, {
        withinMs: readWithinMs,
        signal,
      });
      return records;
    } finally {
      await consumer.disconnect();
    }
  }

  /** The end offset of each partition that is not empty. */
  async #ends(topics: readonly string[]): Promise<Map<string, bigint>> {
    const ends = new Map<string, bigint>();
    await this.#withAdmin(async (admin) => {
      for (const topic of topics) {
        for (const { partition, high, low } of await admin.fetchTopicOffsets(topic)) {
          if (high !== low) ends.set(`${topic}/${partition}`, BigInt(high));
        }
      }
    });
    return ends;
  }

  async #withAdmin<Result>(work: (admin: Admin) => Promise<Result>): Promise<Result> {
    const admin = this.#kafka.admin();
    try {
      await admin.connect();
      return await work(admin);
    } finally {
      await admin.disconnect();
    }
  }
}

function recordOf(topic: string, partition: number, message: KafkaMessage): AuditRecord {
  return {
    id: String(message.headers?.['ce_id'] ?? 'none'),
    topic,
    key: message.key?.toString() ?? null,
    partition,
    offset: BigInt(message.offset),
    at: new Date(Number(message.timestamp)),
  };
}
