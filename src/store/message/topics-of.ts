import type { Sql } from '../database/database.ts';

/** The topics of messages, live or archived; those that are unknown are left out. */
export async function readTopicsOf(sql: Sql, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const rows = await sql.query<{ readonly id: string; readonly topic: string }>(
    'select a.id, a.topic from outbox.message_all a where a.id = any($1::uuid[])',
    [[...ids]],
  );
  return new Map(rows.map(({ id, topic }) => [id, topic]));
}

/** The topics of messages that a group keeps; those that it does not keep are left out. */
export async function readKeptTopicsOf(
  sql: Sql,
  group: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await sql.query<{ readonly id: string; readonly topic: string }>(
    'select p.message_id as id, p.topic from outbox.parked p where p.consumer_group = $1 and p.message_id = any($2::text[])',
    [group, [...ids]],
  );
  return new Map(rows.map(({ id, topic }) => [id, topic]));
}
