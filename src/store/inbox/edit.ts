import { isDeepStrictEqual } from 'node:util';
import { chosenIdHeader } from '../../core/chosen-id.ts';
import type { KeptState } from '../../core/parked-states.ts';
import { type Author, transactOrRehearse, writeAudit } from '../audit/audit.ts';
import type { Database, Sql } from '../database/database.ts';
import { type Edit, versionSql } from '../message/edit.ts';
import type { KeptChanged, KeptRefusal } from './change.ts';
import { readWire, type Wire, writeWire } from './wire.ts';

/** A message that a group keeps, by its name. */
export interface KeptName {
  /** Name of the consumer group. */
  readonly group: string;
  /** Id of the message within the group, up to 1,000 characters. */
  readonly id: string;
}

/** A kept message, as an edit needs it. */
export interface EditableKept extends Wire {
  readonly topic: string;
  readonly state: KeptState;
  /** Changes with every change of the row. */
  readonly version: string;
}

export type KeptEditAnswer =
  | { readonly kind: 'edited'; readonly id: string }
  | { readonly kind: KeptRefusal | 'conflict' | 'handled'; readonly state: KeptState | null };

export async function readEditableKept(sql: Sql, { group, id }: KeptName): Promise<EditableKept | undefined> {
  const [row] = await sql.query<Omit<EditableKept, keyof Wire> & { readonly wire: string }>(
    `select topic, state, wire, ${versionSql} as version from outbox.parked where consumer_group = $1 and message_id = $2`,
    [group, id],
  );
  return row && { ...row, ...readWire(row.wire) };
}

/**
 * Replaces a failed message, or the first of a parked key that is not being tried, by a copy with a new id that takes its
 * place, does not expire, and is tried now. Of concurrent edits exactly one wins. An audit entry is written in every case.
 */
export async function editKept(
  database: Database,
  name: KeptName,
  { payload, headers, expectedVersion }: Edit,
  author: Author,
  dryRun: boolean,
): Promise<KeptEditAnswer> {
  const { group, id } = name;
  return transactOrRehearse(database, dryRun, async (sql) => {
    const [made] = await sql.query<{ id: string }>('select outbox.uuid_v7()::text as id');
    const copy = made?.id ?? '';
    const original = await readEditableKept(sql, name);
    const wire = {
      key: null,
      ...original,
      headers: { ...lasting(headers ?? original?.headers), ce_id: copy },
    };
    const [changed] = await sql.query<Omit<KeptChanged<'edited' | 'conflict'>, 'id'>>(
      // An unchanged body is copied within the database.
      `select c.result, c.details from outbox.edit_kept($1, $2, $3::text::timestamptz, $4, $5,
         case when $6::text is not null then convert_to($6, 'UTF8')
           else (select p.body from outbox.parked p where p.consumer_group = $1 and p.message_id = $2) end) c`,
      [group, id, expectedVersion ?? '-infinity', copy, writeWire(wire), payload ?? null],
    );
    const { result, details } = changed ?? { result: 'unknown' as const, details: null };
    const found = await readEditableKept(sql, name);
    const other = headers !== undefined && !isDeepStrictEqual(headers, original?.headers);
    await writeAudit(sql, [
      {
        ...author,
        action: 'edit',
        messageId: null,
        kept: name,
        topic: found?.topic ?? null,
        result: result === 'handled' ? 'too-late' : result,
        details: result === 'edited' ? { ...details, headers: { changed: other } } : (details ?? undefined),
      },
    ]);
    if (result === 'edited') return { kind: 'edited', id: copy };
    return { kind: result, state: found?.state ?? null };
  });
}

/** Who edits a message wants it handled, also after its expiry. */
function lasting(headers: Readonly<Record<string, string>> | null | undefined): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers ?? {}).filter(([name]) => name !== 'ce_expirytime' && name !== chosenIdHeader),
  );
}
