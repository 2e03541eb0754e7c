import type { Sql } from '../database/database.ts';

/** What a topic's rate answers. */
export interface RateAnswer {
  /** How many messages may go now; they count from here on. 0: none. */
  readonly granted: number;
  /** With 0: after how many milliseconds to ask again. */
  readonly waitMs: number;
}

/**
 * Asks the rate of a topic for up to `most` messages. Several relays and lanes may ask at once: one row decides.
 *
 * @param most 1 or more; without a rate all of it is granted
 */
export async function takeRate(sql: Sql, topic: string, most: number): Promise<RateAnswer> {
  const [answer] = await sql.query<RateAnswer>(
    'select granted, wait_ms as "waitMs" from outbox.take_rate($1, $2)',
    [topic, most],
    'repeated',
  );
  if (answer === undefined) throw new Error('outbox.take_rate answers one row.');
  return answer;
}

/**
 * Deletes rows in which nothing counts any more: those of topics and addresses that are gone, or send nothing. Does not wait for
 * locks. A topic that sends again gets a new row.
 */
export async function dropIdleRates(sql: Sql): Promise<void> {
  await sql.query(
    `delete from outbox.rate where scope in (
       select r.scope from outbox.rate r
       where coalesce((select max(at) from unnest(r.sent_at) at), '-infinity') < clock_timestamp() - greatest(interval '1 day',
         (select max(t.rate_per_ms) * interval '1 ms' from outbox.topic t
          where t.rate_messages is not null and outbox.rate_scope(t) = r.scope))
       for update skip locked)`,
  );
}
