import type { Sql } from '../database/database.ts';

/** Two skips at once would replace the function at once, which PostgreSQL refuses; the number is arbitrary. */
const skipLockKey = 5_551_202_612;

/**
 * Has `outbox.clock()` run ahead by this much more, for good. Keys of parked messages that are due by then are offered at
 * once: their workflows sleep on real time.
 */
export async function skipClock(sql: Sql, byMs: number): Promise<void> {
  // A definition takes no parameters.
  await sql.query(
    `do $do$
     begin
       perform pg_advisory_xact_lock(${skipLockKey});
       execute format('create or replace function outbox.clock() returns timestamptz language sql stable as %L',
         format('select now() + %L::interval', outbox.clock() - now() + interval '${Math.round(byMs)} ms'));
       update outbox.parked_key set told_at = '-infinity' where next_at <= outbox.clock();
     end
     $do$`,
  );
}
