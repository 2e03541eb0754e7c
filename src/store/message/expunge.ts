import type { Sql } from '../database/database.ts';
import { type Changed, everywhere, type LockedMessage, type MessageChange } from './change.ts';

/** `not-ended`: it may still be sent, or sent again, so nothing was done. */
export type Expunged = 'expunged' | 'not-ended';

/**
 * Removes payload, headers and errors of ended messages, live or archived. Everything else stays: what was sent when, in which order,
 * and how it ended. Answers `expunged` also for messages that already were.
 *
 * A published message that awaits a receipt has not ended: it may be sent again. A failed one ends when it is discarded or archived.
 */
export const expungeChange: MessageChange<Expunged> = {
  action: 'expunge',
  archivedToo: true,
  apply: expungeLocked,
};

async function expungeLocked(
  sql: Sql,
  rows: readonly LockedMessage[],
): Promise<readonly Changed<Expunged>[]> {
  const seen = await sql.query<{ id: string; state: string; ended: boolean }>(
    `select a.id, a.state::text as state, a.archived_at is not null
         or a.state::text in ('confirmed', 'canceled', 'superseded', 'discarded', 'expired')
         or a.state::text = 'published' and a.confirm_by is null as ended
     from outbox.message_all a where a.id = any($1::uuid[])`,
    [rows.map(({ id }) => id)],
  );
  const ended = seen.filter((each) => each.ended).map(({ id }) => id);
  for (const table of everywhere)
    await sql.query(
      `update ${table} m set payload = '', headers = null, last_error = null, expunged_at = outbox.clock()
       where m.id = any($1::uuid[]) and m.expunged_at is null`,
      [ended],
    );
  await sql.query(
    `update outbox.attempt t set error = null where t.message_id = any($1::uuid[]) and t.error is not null`,
    [ended],
  );
  return seen.map(({ id, state, ended: done }) => ({
    id,
    result: done ? 'expunged' : 'not-ended',
    details: { state },
  }));
}
