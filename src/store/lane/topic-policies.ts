import type { RateRules } from '../../core/topic.ts';
import type { Sql } from '../database/database.ts';

/** The policy of a topic, as relays and writers use it. */
export interface TopicPolicyRow {
  /** Name of the topic. */
  readonly name: string;
  /** Name of the transport that delivers it. */
  readonly transport: string;
  /** Where the transport sends it, for example a Kafka topic. */
  readonly address: string;
  /** Number of ordered parts that are delivered concurrently, 1 to 1,024. */
  readonly lanes: number;
  /** Number of partitions by which keys are placed, 1 or more; `null` before the broker was first reached. */
  readonly partitions: number | null;
  /** What waits until a message is due: a `workflow` of its own, or only the relay (`lane`). */
  readonly timer: 'workflow' | 'lane';
  /** Whether the later messages of a failed one's key go on (`release-key`) or wait (`block-key`). */
  readonly exhausted: 'release-key' | 'block-key';
  /** Milliseconds before the second, third, … try; after the last of them the message is failed. */
  readonly retryMs: readonly number[];
  /** A waiting message gets its workflow when it is due within this number of milliseconds. */
  readonly horizonMs: number;
  /** Maximum size of a serialised payload, in bytes. */
  readonly payloadLimitBytes: number;
  /** Longest delay of a message, in milliseconds. */
  readonly delayLimitMs: number;
  /** The consumer group whose receipts are awaited; `null`: none. */
  readonly confirmGroup: string | null;
  /** How fast relays send its messages; `null`: as fast as the transport takes them. */
  readonly rate: RateRules | null;
  /** True if the topic or its transport is paused. */
  readonly paused: boolean;
}

/** All topics that a relay has announced, by name. */
export async function readTopicPolicies(sql: Sql): Promise<readonly TopicPolicyRow[]> {
  return sql.query<TopicPolicyRow>(
    `select name, transport, address, lanes, partitions, timer, exhausted, retry_ms::float8[] as "retryMs",
       (extract(epoch from horizon) * 1000)::float8 as "horizonMs", payload_limit_bytes as "payloadLimitBytes",
       (extract(epoch from delay_limit) * 1000)::float8 as "delayLimitMs", confirm_group as "confirmGroup",
       case when rate_of is not null
         then jsonb_build_object('messages', rate_messages, 'perMs', rate_per_ms, 'of', rate_of) end as rate,
       outbox.is_paused(name) as paused
     from outbox.topic order by name`,
  );
}
