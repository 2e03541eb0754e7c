import type { Sql } from '../../src/store/database.ts';

/**
 * Stops the clock by which the outbox judges due times: what is four seconds late stays so, however slow the machine is.
 * Leases go on, because they trust the real time.
 */
export async function stopClock(sql: Sql): Promise<void> {
  await sql.query(
    `do $$ begin execute format('create or replace function outbox.clock() returns timestamptz language sql stable as %L',
       format('select %L::timestamptz', now())); end $$`,
  );
}
