import type { Sql } from '../database/database.ts';

/** A topic as relays and writers see it. */
export interface TopicPolicyRow {
  readonly name: string;
  readonly transport: string;
  readonly address: string;
  readonly lanes: number;
  /** Null before the broker was first seen. */
  readonly partitions: number | null;
  readonly timer: 'workflow' | 'lane';
  readonly exhausted: 'release-key' | 'hold-key';
  readonly retryMs: readonly number[];
  readonly horizonMs: number;
  readonly payloadLimitBytes: number;
  readonly delayLimitMs: number;
  readonly confirmGroup: string | null;
  /** True when the topic or its transport is paused. */
  readonly paused: boolean;
}

/** All topics that a relay has announced, by name. */
export async function readTopicPolicies(sql: Sql): Promise<readonly TopicPolicyRow[]> {
  return sql.query<TopicPolicyRow>(
    `select name, transport, address, lanes, partitions, timer, exhausted, retry_ms::float8[] as "retryMs",
       (extract(epoch from horizon) * 1000)::float8 as "horizonMs", payload_limit_bytes as "payloadLimitBytes",
       (extract(epoch from delay_limit) * 1000)::float8 as "delayLimitMs", confirm_group as "confirmGroup",
       outbox.is_paused(name) as paused
     from outbox.topic order by name`,
  );
}
