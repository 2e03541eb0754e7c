import type { OutboxErrorCode } from '../../core/errors.ts';
import type { State } from '../../core/transitions.ts';
import { type Author, transactOrRehearse, writeAudit } from '../audit/audit.ts';
import type { Database, Sql } from '../database/database.ts';

/** What differs in the copy of the failed message. */
export interface Edit {
  /** Exactly this text; absent: the same payload. */
  readonly payload?: string;
  /** All headers of the copy; absent: the same headers. */
  readonly headers?: Readonly<Record<string, string>> | null;
  /** The version that the operator has seen; absent: any. */
  readonly expectedVersion?: string | undefined;
}

/** A failed message, as an edit needs it. */
export interface EditableMessage {
  readonly topic: string;
  readonly lane: number;
  readonly state: State;
  readonly payload: string;
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>> | null;
  /** Changes with every change of the row. */
  readonly version: string;
  readonly expired: boolean;
}

export type EditAnswer =
  | { readonly kind: 'edited'; readonly id: string; readonly topic: string; readonly lane: number }
  /** It is not or no longer failed, past its expiry, not of the expected version, or locked by another transaction. */
  | {
      readonly kind: 'conflict';
      readonly state: State;
      readonly version: string;
      /** Only because of a transaction that holds it. */
      readonly inHand: boolean;
    }
  | { readonly kind: 'unknown' }
  | {
      readonly kind: 'refused';
      readonly code: OutboxErrorCode;
      readonly message: string;
      readonly details?: Record<string, unknown>;
    };

/** A time with microseconds, which a version needs and a JavaScript Date does not have. */
export const versionSql = `to_char(updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

/** The message, live or archived. */
export async function readEditable(sql: Sql, id: string): Promise<EditableMessage | undefined> {
  const [row] = await sql.query<EditableMessage>(
    `select topic, lane, state::text as state, payload, content_type as "contentType", headers, ${versionSql} as version,
       coalesce(expires_at <= outbox.clock(), false) as expired
     from outbox.message_all where id = $1::text::uuid`,
    [id],
  );
  return row;
}

/**
 * Replaces a failed message by a copy with a new id that takes its place: same topic, lane, position, key and ref; no ref if a later message
 * has it, which it means. Of concurrent edits exactly one wins. An audit entry is written in every case except refused content.
 */
export async function editMessage(
  database: Database,
  id: string,
  edit: Edit,
  author: Author,
  dryRun: boolean,
): Promise<EditAnswer> {
  return transactOrRehearse(database, dryRun, async (sql) => {
    const found = await readEditable(sql, id);
    if (found === undefined) return refuse(sql, { kind: 'unknown' });
    const [refused] = await sql.query<{ refusal: Extract<EditAnswer, { kind: 'refused' }> | null }>(
      `select outbox.refusal(jsonb_build_object('payload', $2::text, 'headers', $3::text::jsonb), outbox.policy($1::text), null,
         outbox.clock()) as refusal`,
      [found.topic, edit.payload ?? found.payload, headersOf(edit, found)],
    );
    if (refused?.refusal) return { ...refused.refusal, kind: 'refused' };
    const copy = await supersede(sql, id, edit);
    if (copy === undefined) {
      const { expired, state, version } = (await readEditable(sql, id)) ?? found;
      const inHand = state === 'failed' && !expired && version === (edit.expectedVersion ?? version);
      return refuse(sql, { kind: 'conflict', state, version, inHand }, found.topic);
    }
    const { copyId, details } = copy;
    await writeAudit(sql, [
      { ...author, action: 'edit', messageId: id, topic: found.topic, result: 'edited', details },
    ]);
    return { kind: 'edited', id: copyId, topic: found.topic, lane: found.lane };
  });

  async function refuse(sql: Sql, answer: EditAnswer, topic?: string): Promise<EditAnswer> {
    const details = answer.kind === 'conflict' ? { state: answer.state } : undefined;
    await writeAudit(sql, [
      { ...author, action: 'edit', messageId: id, topic: topic ?? null, result: answer.kind, details },
    ]);
    return answer;
  }
}

function headersOf(edit: Edit, { headers }: Pick<EditableMessage, 'headers'>): string | null {
  const chosen = edit.headers === undefined ? headers : edit.headers;
  return chosen === null ? null : JSON.stringify(chosen);
}

/**
 * The compare-and-set and the copy, in one statement. The copy has the position of the original, so that it goes before later
 * blocked messages of its key; the key is free, because a superseded message blocks nothing.
 */
async function supersede(
  sql: Sql,
  id: string,
  edit: Edit,
): Promise<{ readonly copyId: string; readonly details: Record<string, unknown> } | undefined> {
  const [row] = await sql.query<{ copyId: string; details: Record<string, unknown> }>(
    `with original as materialized (
       select * from only outbox.message m
       where m.id = $1::text::uuid and m.state::text = 'failed' and (m.expires_at is null or m.expires_at > outbox.clock())
         and ($2::text is null or m.updated_at = $2::text::timestamptz)
       for update skip locked
     ), superseded as (
       update only outbox.message m set state = 'superseded', updated_at = outbox.clock() from original o where m.id = o.id
     ), copy as (
       insert into outbox.message (id, topic, lane, position, key, ref, payload, content_type, headers, state, workflow_id, supersedes, expires_at)
       select outbox.uuid_v7(), o.topic, o.lane, o.position, o.key,
         case when not exists (select from only outbox.message n where n.topic = o.topic and n.ref = o.ref and n.id <> o.id
           and (n.created_at, n.position) > (o.created_at, o.position)) then o.ref end, coalesce($3::text, o.payload), o.content_type,
         nullif((case when $4::boolean then $5::text::jsonb else o.headers end) - 'outbox-id', '{}'), 'ready', outbox.lane_workflow_id(o.topic, o.lane), o.id, o.expires_at
       from original o
       returning *
     )
     select c.id as "copyId", jsonb_build_object('copy', c.id, 'attempts', o.attempts,
         'payload', jsonb_build_object('changed', c.payload is distinct from o.payload),
         'headers', jsonb_build_object('changed', c.headers is distinct from o.headers)) as details
     from copy c join original o on o.id = c.supersedes`,
    [
      id,
      edit.expectedVersion ?? null,
      edit.payload ?? null,
      edit.headers !== undefined,
      edit.headers === undefined || edit.headers === null ? null : JSON.stringify(edit.headers),
    ],
  );
  return row;
}
