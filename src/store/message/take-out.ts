import type { Sql } from '../database/database.ts';

/** Moves those of the messages that are in the log to `outbox.message`, in the state that they have, so that they can be changed. */
export async function takeOut(sql: Sql, ids: readonly string[]): Promise<void> {
  await sql.query('select outbox.take_out($1::uuid[])', [[...ids]]);
}

/** The same for those that nobody has locked. @returns their ids */
export async function takeOutFree(sql: Sql, ids: readonly string[]): Promise<readonly string[]> {
  const rows = await sql.query<{ id: string }>(
    `with free as materialized (
       select m.id from outbox.message m where m.id = any($1::uuid[]) for update skip locked
     )
     select f.id from free f, outbox.take_out(array(select id from free))`,
    [[...ids]],
  );
  return rows.map(({ id }) => id);
}
