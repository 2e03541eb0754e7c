import type { Duration } from '../../core/duration.ts';
import type { KeptState } from '../../core/parked-states.ts';
import type { Sql } from '../database/database.ts';

/**
 * A filter of messages that consumers keep. All given conditions must hold.
 *
 * @typeParam Age - milliseconds where it is stored
 */
export interface KeptFilter<Age = Duration> {
  /** Name of the consumer group. */
  readonly group?: string;
  /** Name of the topic, exactly. */
  readonly topic?: string;
  /** States, at least one. @defaultValue all */
  readonly states?: readonly KeptState[];
  /** The key as it is listed: one of more than 512 bytes ends in its digest. */
  readonly key?: string;
  /**
   * Why it is kept: `error` (its handler failed), `killed` (it killed its consumer), or why it cannot be read: `invalid`,
   * `no-id`, `unknown-topic`, `unknown-version`, `unreadable`.
   */
  readonly reason?: string;
  /** Arrived at least this long ago. */
  readonly olderThan?: Age;
}

/** A filter of a list of kept messages. */
export interface KeptListFilter<Age = Duration> extends KeptFilter<Age> {
  /** Only messages that no other one of their key goes before: of a queue the one that is tried, or failed. @defaultValue false */
  readonly head?: boolean;
}

/** A kept message in a list: everything but its body and headers. */
export interface ListedKept {
  /** Name of the consumer group that keeps it. */
  readonly group: string;
  /** Id of the message within the group, as given by its sender: any text. */
  readonly id: string;
  /** Its position in the order of kept messages, a 64-bit integer as a string. */
  readonly position: string;
  /** Name of its topic; for an unknown one, the address where it arrived. */
  readonly topic: string;
  /** Its key; one of more than 512 bytes ends in its digest; `null`: it has none. */
  readonly key: string | null;
  /** Its state in the group. */
  readonly state: KeptState;
  /** `null`: it only waits behind another message of its key. */
  readonly reason: string | null;
  /** The error of its last try, or why it cannot be read; `null`: it was not tried yet. */
  readonly lastError: string | null;
  /** Number of tries; the quick retries count as part of the first one. */
  readonly attempts: number;
  /** When the group first received it, on the database's clock. */
  readonly arrivedAt: Date;
  /** When its row was last written, on the database's clock. */
  readonly updatedAt: Date;
}

/** The message after which a page begins. */
export interface KeptPosition {
  readonly position: string;
  readonly id: string;
}

/** The columns of {@link ListedKept}, on a row `p`. */
export const keptColumns = `p.consumer_group as "group", p.message_id as id, p.position, p.topic, p.key, p.state, p.reason,
  p.last_error as "lastError", p.attempts, p.arrived_at as "arrivedAt", p.updated_at as "updatedAt"`;

/** The filter, on a row `p`, except its group. Parameters 1 to 6 are {@link selectionValues}. */
export const keptMatchesSql = `($2::text is null or p.topic = $2) and ($3::text[] is null or p.state = any($3))
  and ($4::text is null or p.key = $4) and ($5::text is null or p.reason = $5)
  and ($6::float8 is null or p.arrived_at <= outbox.clock() - $6 * interval '1 ms')`;

/** Groups that keep messages, or the one of parameter 1. */
const groups = `groups (name) as (
    select coalesce($1, (select min(g.consumer_group) from outbox.parked g))
    union all
    select (select min(g.consumer_group) from outbox.parked g where g.consumer_group > n.name)
    from groups n where n.name is not null and $1::text is null
  )`;

/** Parameters 1 to 6 of {@link keptMatchesSql}; the first is the group. */
export function selectionValues(selection: KeptFilter<number>): readonly unknown[] {
  const { group, topic, states, key, reason, olderThan } = selection;
  return [
    group ?? null,
    topic ?? null,
    states === undefined ? null : [...states],
    key ?? null,
    reason ?? null,
    olderThan ?? null,
  ];
}

/** Kept messages, latest first by position. */
export async function listKept(
  sql: Sql,
  selection: KeptListFilter<number>,
  limit: number,
  after: KeptPosition | null,
): Promise<{ readonly messages: readonly ListedKept[]; readonly next: KeptPosition | null }> {
  const found = await sql.query<ListedKept>(
    `with recursive ${groups}
     select x.* from groups n cross join lateral (
       select ${keptColumns} from outbox.parked p
       where p.consumer_group = n.name and ${keptMatchesSql} and (not $10::boolean
           or not exists (select from outbox.parked e where e.key_id = p.key_id and e.position < p.position))
         and (p.position, p.message_id) < (coalesce($7::bigint, 9223372036854775807), coalesce($8::text, '') collate "C")
       order by p.position desc, p.message_id desc limit $9) x
     order by x.position desc, x.id desc limit $9`,
    [
      ...selectionValues(selection),
      after?.position ?? null,
      after?.id ?? null,
      limit + 1,
      selection.head ?? false,
    ],
  );
  const messages = found.slice(0, limit);
  const last = messages.at(-1);
  const more = found.length > limit && last !== undefined;
  return { messages, next: more ? { position: last.position, id: last.id } : null };
}
