import type { State } from '../../core/transitions.ts';
import type { Sql } from '../database/database.ts';
import { versionSql } from './edit.ts';

/** One message with everything that its row says. */
export interface ShownMessage {
  /** UUID of the message; it travels to the consumer. */
  readonly id: string;
  /** Name of its topic. */
  readonly topic: string;
  /** Number of its lane in the topic, from 0. */
  readonly lane: number;
  /** Its place in the order of the lane, a 64-bit integer as text. A message that becomes due gets a new one. */
  readonly position: string;
  /** Messages of one key are delivered in order; null: it has none. */
  readonly key: string | null;
  /** Business name, unique in the topic while the message waits; null: it has none. */
  readonly ref: string | null;
  /** The payload as it is stored, for JSON exactly its text. */
  readonly payload: string;
  /** Media type of the payload, `application/json` unless a writer in SQL says otherwise. */
  readonly contentType: string;
  /** The headers that its sender gave it; null: none. */
  readonly headers: Readonly<Record<string, string>> | null;
  /** The state as people see it: `published` also where only the cursor of the lane says so. */
  readonly state: State;
  /** The Temporal workflow that delivers it: its lane's, or its own. */
  readonly workflowId: string;
  /** When it is or was due, or its next try; null: it was due at once. */
  readonly dueAt: Date | null;
  /** Tries that failed, 0 or more. A retry of a failed message begins at 0 again. */
  readonly attempts: number;
  /** Acknowledged sends that are written in its row, 0 or more; that its lane has passed it is written in no row. */
  readonly sends: number;
  /** What the last failed try ended with; null: none has failed. */
  readonly lastError: string | null;
  /** True: a broker may hold it, so it can no longer be canceled. */
  readonly maybePublished: boolean;
  /** Where the broker has it, from 0; null: not published, or only `delivery` tells. */
  readonly partition: number | null;
  /** Its place in the partition, as text; null as `partition`. */
  readonly offset: string | null;
  /** When the receipt of its last send is overdue; null: none is awaited. */
  readonly confirmBy: Date | null;
  /** When it was sent, on the database's clock. */
  readonly createdAt: Date;
  /** When its row was last written, on the database's clock; that its lane passes it writes no row. */
  readonly updatedAt: Date;
  /** When the broker had acknowledged it, on the database's clock; null: not published, or only `delivery` tells. */
  readonly publishedAt: Date | null;
  /** UUID of what it replaces after an edit; null: nothing. */
  readonly supersedes: string | null;
  /** UUID of what replaced it; null: nothing. */
  readonly supersededBy: string | null;
  /** When it was moved to the history; null: it is live. */
  readonly archivedAt: Date | null;
  /** For `expectedVersion` of an edit. */
  readonly version: string;
}

/** One try to publish a message. */
export interface ShownAttempt {
  /** When its outcome was written, on the database's clock. */
  readonly at: Date;
  /** `rejected`: the broker refused it, for now; `permanent`: for ever. `ambiguous`: nobody knows whether the broker has it. */
  readonly outcome: 'acknowledged' | 'rejected' | 'ambiguous' | 'permanent';
  /** What it ended with; null: it was acknowledged. */
  readonly error: string | null;
  /** Where the broker has it, from 0; null: not acknowledged, or the transport has no partitions. */
  readonly partition: number | null;
  /** Its place in the partition, as text; null as `partition`, or where the broker does not tell. */
  readonly offset: string | null;
}

/** What was done by hand to a message, or was refused. */
export interface ShownAudit {
  /** When, on the database's clock. */
  readonly at: Date;
  /** Who did it: the `actor` of the operation, 1 to 200 characters. */
  readonly actor: string;
  /** Name of the operation, for example `retry`. */
  readonly action: string;
  /** What it did, for example `retried`, or why it did nothing: `too-late`, for example. */
  readonly result: string;
  /** Why, up to 2,000 characters; null: nobody said. */
  readonly reason: string | null;
  /** Times, ids, hashes and counts of the change, never a payload; null: there are none. */
  readonly details: unknown;
}

/** Attempts and audit entries of one message are read up to here, the newest first. */
const entryLimit = 200;

/** The message, live or archived. */
export async function readStoredMessage(sql: Sql, id: string): Promise<ShownMessage | undefined> {
  const [row] = await sql.query<ShownMessage>(
    `select a.id, a.topic, a.lane, a.position, a.key, a.ref, a.payload, a.content_type as "contentType", a.headers,
       a.state::text as state, a.workflow_id as "workflowId", a.due_at as "dueAt", a.attempts, a.sends, a.last_error as "lastError",
       a.maybe_published as "maybePublished", a.partition, a."offset", a.confirm_by as "confirmBy", a.created_at as "createdAt",
       a.updated_at as "updatedAt", a.published_at as "publishedAt", a.supersedes, a.archived_at as "archivedAt",
       coalesce((select c.id from outbox.message c where c.supersedes = a.id limit 1),
         (select (e.details ->> 'copy')::uuid from outbox.audit e where e.message_id = a.id and e.action = 'edit' and e.result = 'edited'
          limit 1)) as "supersededBy",
       ${versionSql} as version
     from outbox.message_all a where a.id = $1`,
    [id],
  );
  return row;
}

/** Failures, and every attempt of a message with a workflow of its own; the newest first. */
export async function readAttempts(sql: Sql, id: string): Promise<readonly ShownAttempt[]> {
  return sql.query<ShownAttempt>(
    `select at, outcome, error, partition, "offset" from outbox.attempt where message_id = $1 order by at desc, id desc limit $2`,
    [id, entryLimit],
  );
}

/** What operators did to the message, and were refused; the newest first. */
export async function readAudit(sql: Sql, id: string): Promise<readonly ShownAudit[]> {
  return sql.query<ShownAudit>(
    `select at, actor, action, result, reason, details from outbox.audit where message_id = $1 order by id desc limit $2`,
    [id, entryLimit],
  );
}
