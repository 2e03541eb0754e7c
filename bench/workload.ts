import { z } from 'zod';
import { policyOf } from '../src/app/relay/topic-policy.ts';
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

/** A drain of so many warms up the servers before anything is measured. */
export const warmUpMessages = 20_000;

/** Messages per second over rounds of equal size: all rounds count, with equal weight. */
export function overall(rates: readonly number[]): number {
  return Math.round(rates.length / rates.reduce((seconds, rate) => seconds + 1 / rate, 0));
}

const keys = 1_000;
const perStatement = 2_000;
const writers = 2;

export interface Stage {
  readonly database: Database;
  readonly databaseUrl: string;
  readonly temporalAddress: string;
  readonly brokers: readonly string[];
}

/** A topic whose messages are a {@link body} each. */
export function bodyTopic(name: string, options: TopicOptions): BodyTopic {
  return topic(name, z.object({ text: z.string() }), { transport: 'kafka', ...options });
}

/** A topic of the outbox for a Kafka topic that exists. */
export async function announceTopic(
  database: Database,
  name: string,
  options: TopicOptions,
): Promise<BodyTopic> {
  const made = bodyTopic(name, options);
  await announceTopics(database, [policyOf(made, 'kafka')], {});
  return made;
}

/** What `fill` stores. */
export interface Filling {
  readonly count: number;
  /** When they are due. @defaultValue at once */
  readonly at?: Date | undefined;
  /** Of each payload, about. @defaultValue 250 */
  readonly bytes?: number;
}

/** JSON around the text. */
const bodyOverheadBytes = 11;
const bytesPerStatement = 8_000_000;

/** Stores messages through the product's own API. */
export async function fill(
  stage: Pick<Stage, 'database'>,
  target: BodyTopic,
  { at, bytes, count }: Filling,
): Promise<void> {
  const payload = bytes === undefined ? body : { text: 'x'.repeat(bytes - bodyOverheadBytes) };
  const most = Math.max(1, Math.min(perStatement, Math.floor(bytesPerStatement / (bytes ?? 1))));
  let begun = 0;
  const writer = async (): Promise<void> => {
    for (let from = begun; from < count; from = begun) {
      begun += most;
      const messages = Array.from({ length: Math.min(most, count - from) }, (_, index) => ({
        payload,
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

/** Pauses or resumes topics: paused ones may be filled while relays run. */
export async function setPaused(
  stage: Pick<Stage, 'database'>,
  targets: readonly BodyTopic[],
  paused: boolean,
): Promise<void> {
  const names = targets.map(({ name }) => name);
  await stage.database.query('update outbox.topic set paused = $2 where name = any($1)', [names, paused]);
}
