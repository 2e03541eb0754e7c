import type { Sql } from '../database/database.ts';

/** The message of a ref: the waiting one, else the newest, live before archived. */
export async function idOfRef(sql: Sql, topic: string, ref: string): Promise<string | undefined> {
  const [row] = await sql.query<{ id: string | null }>('select outbox.message_of_ref($1, $2) as id', [
    topic,
    ref,
  ]);
  return row?.id ?? undefined;
}
