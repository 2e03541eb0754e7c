import type { KeptState } from '../../core/parked-states.ts';
import { type Author, transactOrRehearse, writeAudit } from '../audit/audit.ts';
import type { Database, Sql } from '../database/database.ts';
import { versionSql } from '../message/edit.ts';
import type { KeptChanged, KeptRefusal } from './change.ts';

/** A message that a group keeps, by its name. */
export interface KeptName {
  /** Name of the consumer group. */
  readonly group: string;
  /** Id of the message within the group, up to 1,000 characters. */
  readonly id: string;
}

/** A kept message, as an edit needs it. */
export interface EditableKept {
  readonly topic: string;
  readonly state: KeptState;
  /** Key and headers as they arrived, as JSON. */
  readonly wire: string;
  /** Changes with every change of the row. */
  readonly version: string;
}

export interface KeptEdit {
  /** The version that the operator has seen; no other version is changed. */
  readonly version: string;
  /** Key and headers of the copy, which has this id. */
  wireOf(id: string): string;
  /** Exactly this text; absent: the same body. */
  readonly body?: string;
}

export type KeptEditAnswer =
  | { readonly kind: 'edited'; readonly id: string }
  | { readonly kind: KeptRefusal | 'conflict' | 'handled'; readonly state: KeptState | null };

export async function readEditableKept(sql: Sql, { group, id }: KeptName): Promise<EditableKept | undefined> {
  const [row] = await sql.query<EditableKept>(
    `select topic, state, wire, ${versionSql} as version from outbox.parked where consumer_group = $1 and message_id = $2`,
    [group, id],
  );
  return row;
}

/**
 * Replaces a failed message, or the first of a parked key that is not being tried, by a copy with a new id that takes its
 * place and is tried now. Of concurrent edits exactly one wins. An audit entry is written in every case.
 */
export async function editKept(
  database: Database,
  name: KeptName,
  edit: KeptEdit,
  author: Author,
  dryRun: boolean,
): Promise<KeptEditAnswer> {
  const { group, id } = name;
  return transactOrRehearse(database, dryRun, async (sql) => {
    const [made] = await sql.query<{ id: string }>('select outbox.uuid_v7()::text as id');
    const copy = made?.id ?? '';
    const [changed] = await sql.query<Omit<KeptChanged<'edited' | 'conflict'>, 'id'>>(
      // An unchanged body is copied within the database.
      `select c.result, c.details from outbox.edit_kept($1, $2, $3::text::timestamptz, $4, $5,
         case when $6::text is not null then convert_to($6, 'UTF8')
           else (select p.body from outbox.parked p where p.consumer_group = $1 and p.message_id = $2) end) c`,
      [group, id, edit.version, copy, edit.wireOf(copy), edit.body ?? null],
    );
    const { result, details } = changed ?? { result: 'unknown' as const, details: null };
    const found = await readEditableKept(sql, name);
    await writeAudit(sql, [
      {
        ...author,
        action: 'edit',
        messageId: null,
        kept: name,
        topic: found?.topic ?? null,
        result: result === 'handled' ? 'too-late' : result,
        details: details ?? undefined,
      },
    ]);
    if (result === 'edited') return { kind: 'edited', id: copy };
    return { kind: result, state: found?.state ?? null };
  });
}
