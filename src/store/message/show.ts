import type { State } from '../../core/transitions.ts';
import type { Sql } from '../database/database.ts';
import { versionSql } from './edit.ts';

/** One message with everything that its row says. */
export interface ShownMessage {
  readonly id: string;
  readonly topic: string;
  readonly lane: number;
  readonly position: string;
  readonly key: string | null;
  readonly ref: string | null;
  readonly payload: string;
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>> | null;
  readonly state: State;
  readonly workflowId: string;
  readonly dueAt: Date | null;
  readonly attempts: number;
  readonly sends: number;
  readonly lastError: string | null;
  /** True: a broker may hold it, so it can no longer be canceled. */
  readonly maybePublished: boolean;
  readonly partition: number | null;
  readonly offset: string | null;
  readonly confirmBy: Date | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly publishedAt: Date | null;
  /** What it replaces, after an edit. */
  readonly supersedes: string | null;
  /** What replaced it. */
  readonly supersededBy: string | null;
  readonly archivedAt: Date | null;
  /** For `expectedVersion` of an edit. */
  readonly version: string;
}

export interface ShownAttempt {
  readonly at: Date;
  readonly outcome: 'acknowledged' | 'rejected' | 'ambiguous' | 'permanent';
  readonly error: string | null;
  readonly partition: number | null;
  readonly offset: string | null;
}

export interface ShownAudit {
  readonly at: Date;
  readonly actor: string;
  readonly action: string;
  readonly result: string;
  readonly reason: string | null;
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
