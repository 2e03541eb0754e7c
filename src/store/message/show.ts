import type { State } from '../../core/transitions.ts';
import type { Sql } from '../database/database.ts';
import { versionSql } from './edit.ts';

/** One message with everything in its row. */
export interface ShownMessage {
  /** UUID of the message; it travels to the consumer. */
  readonly id: string;
  /** Name of its topic. */
  readonly topic: string;
  /** Number of its lane in the topic, from 0. */
  readonly lane: number;
  /** Its position in the order of the lane, a 64-bit integer as a string. A message that becomes due gets a new one. */
  readonly position: string;
  /** Messages of one key are delivered in order; `null`: it has none. */
  readonly key: string | null;
  /** Business name, unique in the topic while the message waits; `null`: it has none. */
  readonly ref: string | null;
  /** The payload as stored; for JSON exactly its text. Empty if it was expunged. */
  readonly payload: string;
  /** Media type of the payload, `application/json` unless a writer in SQL has set another one. */
  readonly contentType: string;
  /** The headers that its sender set; `null`: none, or expunged. */
  readonly headers: Readonly<Record<string, string>> | null;
  /** The state as operators see it: `published` also if only the cursor of the lane says so. */
  readonly state: State;
  /** The Temporal workflow that delivers it: its lane's, or its own. */
  readonly workflowId: string;
  /** When it is or was due, or its next try; `null`: it was due at once. */
  readonly dueAt: Date | null;
  /** When it expires: what is not published by then is not sent; `null`: never. */
  readonly expiresAt: Date | null;
  /** Number of failed tries. A retry of a failed message resets it to 0. */
  readonly attempts: number;
  /** Number of acknowledged sends according to its row; being passed by its lane is not written to the row. */
  readonly sends: number;
  /** The error of the last failed try; `null`: none has failed. */
  readonly lastError: string | null;
  /** True: the broker may have it, so it can no longer be canceled. */
  readonly maybePublished: boolean;
  /** Its partition, from 0; `null`: not published, or only in `delivery`. */
  readonly partition: number | null;
  /** Its offset in the partition, as a string; `null` like `partition`. */
  readonly offset: string | null;
  /** When the receipt of its last send becomes overdue; `null`: none is awaited. */
  readonly confirmBy: Date | null;
  /** When it was sent, on the database's clock. */
  readonly createdAt: Date;
  /** When its row was last written, on the database's clock; being passed by its lane does not write it. */
  readonly updatedAt: Date;
  /** When the broker had acknowledged it, on the database's clock; `null`: not published, or only in `delivery`. */
  readonly publishedAt: Date | null;
  /** UUID of the message that it replaces after an edit; `null`: none. */
  readonly supersedes: string | null;
  /** UUID of the message that replaced it; `null`: none. */
  readonly supersededBy: string | null;
  /** When it was moved to the history; `null`: it is live. */
  readonly archivedAt: Date | null;
  /** When its payload, headers and errors were removed; `null`: they were not. */
  readonly expungedAt: Date | null;
  /** For `expectedVersion` of an edit. */
  readonly version: string;
}

/** One try to publish a message. */
export interface ShownAttempt {
  /** When its outcome was written, on the database's clock. */
  readonly at: Date;
  /** `rejected`: the broker refused it, for now; `permanent`: forever. `ambiguous`: it is unknown whether the broker has it. */
  readonly outcome: 'acknowledged' | 'rejected' | 'ambiguous' | 'permanent';
  /** Its error; `null`: it was acknowledged. */
  readonly error: string | null;
  /** Its partition, from 0; `null`: not acknowledged, or the transport has no partitions. */
  readonly partition: number | null;
  /** Its offset in the partition, as a string; `null` like `partition`, or if the broker does not return it. */
  readonly offset: string | null;
}

/** What an operator did to a message, or was refused. */
export interface ShownAudit {
  /** When, on the database's clock. */
  readonly at: Date;
  /** Who did it: the `actor` of the operation, 1 to 200 characters. */
  readonly actor: string;
  /** Name of the operation, for example `retry`. */
  readonly action: string;
  /** What it did, for example `retried`, or why it did nothing, for example `too-late`. */
  readonly result: string;
  /** Why, up to 2,000 characters; `null`: not given. */
  readonly reason: string | null;
  /** Times, ids, hashes and counts of the change, never a payload; `null`: none. */
  readonly details: unknown;
}

/** Maximum number of attempts and of audit entries that are read, newest first. */
const entryLimit = 200;

/** The message, live or archived. */
export async function readStoredMessage(sql: Sql, id: string): Promise<ShownMessage | undefined> {
  const [row] = await sql.query<ShownMessage>(
    `select a.id, a.topic, a.lane, a.position, a.key, a.ref, a.payload, a.content_type as "contentType", a.headers,
       a.state::text as state, a.workflow_id as "workflowId", a.due_at as "dueAt", a.expires_at as "expiresAt", a.attempts, a.sends, a.last_error as "lastError",
       a.maybe_published as "maybePublished", a.partition, a."offset", a.confirm_by as "confirmBy", a.created_at as "createdAt",
       a.updated_at as "updatedAt", a.published_at as "publishedAt", a.supersedes, a.archived_at as "archivedAt", a.expunged_at as "expungedAt",
       coalesce((select c.id from only outbox.message c where c.supersedes = a.id limit 1),
         (select (e.details ->> 'copy')::uuid from outbox.audit e where e.message_id = a.id and e.action = 'edit' and e.result = 'edited'
          limit 1)) as "supersededBy",
       ${versionSql} as version
     from outbox.message_all a where a.id = $1`,
    [id],
  );
  return row;
}

/** Failures, and every attempt of a message with a workflow of its own; newest first. */
export async function readAttempts(sql: Sql, id: string): Promise<readonly ShownAttempt[]> {
  const rows = await sql.query<Omit<ShownAttempt, 'error'> & { readonly lastError: string | null }>(
    `select at, outcome, error as "lastError", partition, "offset" from outbox.attempt where message_id = $1 order by at desc, id desc limit $2`,
    [id, entryLimit],
  );
  return rows.map(({ lastError: error, ...row }) => ({ ...row, error }));
}

/** What operators did to the message, or were refused; newest first. */
export async function readAudit(sql: Sql, id: string): Promise<readonly ShownAudit[]> {
  return sql.query<ShownAudit>(
    `select at, actor, action, result, reason, details from outbox.audit where message_id = $1 order by id desc limit $2`,
    [id, entryLimit],
  );
}
