import { listCell, orNull, readRow, textCell } from '../database/answers.ts';
import type { Sql } from '../database/database.ts';

/**
 * Stores message ids for a consumer group in the transaction of their effects.
 *
 * A concurrent transaction with one of the ids waits here until this one ends. An id that is given twice is new once. In a
 * REPEATABLE READ or SERIALIZABLE transaction it may fail with SQLSTATE 40001, and the transaction must be retried; in READ
 * COMMITTED it never does.
 *
 * @param topics the topic of each id, in the order of `ids`
 * @returns the new ids; the effects of the others are committed, or were stored earlier in this transaction
 */
export async function markProcessed(
  sql: Sql,
  group: string,
  ids: readonly string[],
  topics: readonly (string | null)[],
): Promise<ReadonlySet<string>> {
  const rows = await sql.query<object>(
    `select array_to_json(array(select outbox.mark_processed($1::text, $2::text[], $3::text[])))::text as fresh`,
    [group, [...ids], [...topics]],
  );
  return new Set(readRow(rows, { fresh: listCell(textCell) }).fresh);
}

/** Those of the ids that are already stored, by committed transactions or by this one. Never waits for a lock. */
export async function readProcessed(
  sql: Sql,
  group: string,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  // In a replay these are thousands, and nearly all are stored: one text is the cheapest parameter, and the shorter of the two lists the cheapest answer.
  const rows = await sql.query<object>(
    `select case when f.few then array_to_json(f.noted)::text end as noted,
       case when not f.few then array_to_json(array(select unnest(f.ids) except all select unnest(f.noted)))::text end as others
     from (select a.ids, n.noted, 2 * cardinality(n.noted) < cardinality(a.ids) as few
       from (select array(select json_array_elements_text($2::json)) as ids offset 0) a,
         lateral (select array(select outbox.read_processed($1::text, a.ids)) as noted offset 0) n) f`,
    [group, JSON.stringify(ids)],
  );
  const { noted, others } = readRow(rows, {
    noted: orNull(listCell(textCell)),
    others: orNull(listCell(textCell)),
  });
  if (others === null) return new Set(noted);
  const all = new Set(ids);
  for (const id of others) all.delete(id);
  return all;
}

/** Notes that messages whose ids are stored had expired, and no handler was called, in the transaction that ends them. */
export async function noteExpired(sql: Sql, group: string, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await sql.query('select 1 from outbox.note_expired($1, $2::text[])', [group, [...ids]]);
}

/**
 * Deletes ids that {@link markProcessed} stored in the same transaction, so that none is left if the transaction commits
 * after all.
 */
export async function forgetProcessed(sql: Sql, group: string, ids: readonly string[]): Promise<void> {
  await sql.query('delete from outbox.processed where consumer_group = $1 and message_id = any($2::text[])', [
    group,
    [...ids],
  ]);
}
