import type { Sql } from '../database/database.ts';

/** Pauses a schedule, or ends its pause. @returns false if it was so already; `undefined`: there is no such schedule */
export async function setSchedulePaused(
  sql: Sql,
  name: string,
  paused: boolean,
): Promise<boolean | undefined> {
  const [row] = await sql.query<{ paused: boolean }>(
    'select paused from outbox.schedule where name = $1::text and not removed for no key update',
    [name],
  );
  if (row === undefined || row.paused === paused) return row && false;
  await sql.query(
    `update outbox.schedule set paused = $2::boolean, holds_since = case when $2::boolean then holds_since else outbox.clock() end,
       version = version + 1, updated_at = outbox.clock() where name = $1::text`,
    [name, paused],
  );
  return true;
}
