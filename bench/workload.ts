import { randomUUID } from 'node:crypto';
import { Kafka, logLevel } from 'kafkajs';
import { z } from 'zod';
import { policyOf } from '../src/config/topic-policy.ts';
import { type Topic, type TopicOptions, topic } from '../src/core/topic.ts';
import { announceTopics } from '../src/operations/announce.ts';
import { sendBatch } from '../src/outbox/send.ts';
import type { Database } from '../src/store/database/database.ts';
import { fromQuery } from '../src/store/database/transaction.ts';

/** About 250 bytes when serialized. */
export const body = { text: 'x'.repeat(236) };

export type BodyTopic = Topic<{ text: string }>;

/** The share of a run before the clock starts, in which the program still loads code and opens connections. */
export const warmUpShare = 0.25;

/** Messages per second over rounds of equal size: all rounds count, with equal weight. */
export function overall(rates: readonly number[]): number {
  return Math.round(rates.length / rates.reduce((seconds, rate) => seconds + 1 / rate, 0));
}

const keys = 1_000;
const partitions = 4;
const perStatement = 2_000;
const writers = 2;

export interface Stage {
  readonly database: Database;
  readonly databaseUrl: string;
  readonly temporalAddress: string;
  readonly brokers: readonly string[];
}

/** A new topic, here and on the broker. Every measurement has a separate one, so that none drains rows of another. */
export async function createTopic(stage: Stage, name: string, options: TopicOptions): Promise<BodyTopic> {
  const made = topic(`${name}-${randomUUID().slice(0, 8)}`, z.object({ text: z.string() }), {
    transport: 'kafka',
    ...options,
  });
  const admin = new Kafka({ brokers: [...stage.brokers], logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  await admin.createTopics({
    waitForLeaders: true,
    topics: [{ topic: made.name, numPartitions: partitions }],
  });
  await admin.disconnect();
  await announceTopics(stage.database, [policyOf(made, 'kafka')], {});
  return made;
}

/** Stores `count` messages through the product's own API. */
export async function fill(stage: Stage, target: BodyTopic, count: number, at?: Date): Promise<void> {
  let begun = 0;
  const writer = async (): Promise<void> => {
    for (let from = begun; from < count; from = begun) {
      begun += perStatement;
      const messages = Array.from({ length: Math.min(perStatement, count - from) }, (_, index) => ({
        payload: body,
        key: `key-${(from + index) % keys}`,
        ...(at !== undefined && { at }),
      }));
      await stage.database.transaction((sql) =>
        sendBatch(
          fromQuery((text, values) => sql.query(text, values)),
          target,
          messages,
        ),
      );
    }
  };
  await Promise.all(Array.from({ length: writers }, writer));
}

/** Pauses or resumes a topic: a paused one may be filled while relays run. */
export async function setPaused(stage: Stage, target: BodyTopic, paused: boolean): Promise<void> {
  await stage.database.query('update outbox.topic set paused = $2 where name = $1', [target.name, paused]);
}

/** Number of messages of a topic that its lanes have published. */
export async function publishedCount(stage: Stage, target: BodyTopic): Promise<number> {
  const [row] = await stage.database.query<{ count: number }>(
    'select coalesce(sum(count), 0)::integer as count from outbox.batch where topic = $1',
    [target.name],
  );
  return row?.count ?? 0;
}
