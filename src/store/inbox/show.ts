import type { KeptState } from '../../core/parked-states.ts';
import type { Sql } from '../database/database.ts';
import { versionSql } from '../message/edit.ts';
import type { ShownAudit } from '../message/show.ts';
import type { KeptName } from './edit.ts';
import type { ListedKept } from './list.ts';

/** One kept message with everything in its row except headers and body, and the state of its key. */
export interface StoredKept extends ListedKept {
  /** Where it arrived: a Kafka topic. */
  readonly address: string;
  /** Partition of the address, from 0. */
  readonly partition: number;
  /** Its offset in the partition, as a string. */
  readonly offset: string;
  /** When it was sent, according to the broker. */
  readonly sentAt: Date;
  /** When its copy reached the dead-letter address; `null`: not yet. */
  readonly copiedAt: Date | null;
  /** When its body, headers and error were removed; `null`: they were not. */
  readonly expungedAt: Date | null;
  /** Id of the message that it replaces after an edit; `null`: none. */
  readonly supersedes: string | null;
  /** Id of the message that replaced it; `null`: none. */
  readonly supersededBy: string | null;
  /** For `expectedVersion` of an edit. */
  readonly version: string;
  /** State of its parked key; `null`: its key is not parked. */
  readonly parkedKey: KeptKey | null;
}

/** The same with key and headers as JSON, and the body. */
export interface KeptRow extends StoredKept {
  readonly wire: string;
  /** In base64. */
  readonly body: string | null;
}

/** State of a parked key, for one of its messages. */
export interface KeptKey {
  /** The Temporal workflow `drainParkedKey` that tries its messages. */
  readonly workflowId: string;
  /** Milliseconds until the next try of its first message; negative: overdue, `null`: a failed message blocks it. */
  readonly nextInMs: number | null;
  /** Time of that try; `null` like `nextInMs`. */
  readonly nextAt: Date | null;
  /** The first message of the queue; a failed one blocks the key. */
  readonly first: { readonly id: string; readonly state: KeptState } | null;
  /** Messages of the queue before this one. */
  readonly before: number;
  /** True: a try of its first message has begun, and has not ended. Read from its row: a look locks nothing. */
  readonly inHand: boolean;
  /** False: its workflow was not started yet. */
  readonly workflowStarted: boolean;
}

const entryLimit = 200;

/** A kept message; `undefined`: the group does not keep one of this id. */
export async function readKeptMessage(sql: Sql, { group, id }: KeptName): Promise<KeptRow | undefined> {
  const [row] = await sql.query<KeptRow>(
    `select consumer_group as "group", message_id as id, position, topic, key, state, reason, last_error as "lastError", attempts,
       address, partition, "offset", wire, encode(body, 'base64') as body, sent_at as "sentAt", arrived_at as "arrivedAt",
       updated_at as "updatedAt", copied_at as "copiedAt", expunged_at as "expungedAt", supersedes, superseded_by as "supersededBy", ${versionSql} as version,
       (select jsonb_build_object(
          'workflowId', k.workflow_id,
          'nextInMs', case when k.next_at < 'infinity' then extract(epoch from k.next_at - outbox.clock()) * 1000 end,
          'nextAt', case when k.next_at < 'infinity' then k.next_at end,
          'first', (select jsonb_build_object('id', f.message_id, 'state', f.state) from outbox.parked f
            where f.key_id = k.id order by f.position limit 1),
          'before', (select count(*) from outbox.parked b where b.key_id = k.id and b.position < p.position),
          'inHand', k.worker is not null,
          'workflowStarted', coalesce(k.told_at > '-infinity', false))
        from outbox.parked_key k where k.id = p.key_id) as "parkedKey"
     from outbox.parked p where consumer_group = $1 and message_id = $2`,
    [group, id],
  );
  if (row === undefined || row.parkedKey === null) return row;
  const { nextAt } = row.parkedKey;
  // In JSON a date is a string.
  return { ...row, parkedKey: { ...row.parkedKey, nextAt: nextAt === null ? null : new Date(nextAt) } };
}

/** Whether the group has committed the effects of this message, or keeps it. */
export async function isNoted(sql: Sql, { group, id }: KeptName): Promise<boolean> {
  const rows = await sql.query('select 1 from outbox.read_processed($1, array[$2])', [group, id]);
  return rows.length > 0;
}

/** What operators did to a kept message, or were refused; newest first. */
export async function readKeptAudit(sql: Sql, { group, id }: KeptName): Promise<readonly ShownAudit[]> {
  return sql.query<ShownAudit>(
    `select at, actor, action, result, reason, details from outbox.audit
     where consumer_group = $1 and inbox_id = $2 order by id desc limit $3`,
    [group, id, entryLimit],
  );
}
