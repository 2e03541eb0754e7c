import type { Database, Sql } from '../database/database.ts';
import { storableText } from '../database/storable-text.ts';
import type { AlertNews } from './alerts.ts';

/** State of a destination, for operators. */
export interface AlertDestination {
  /** `webhook`, `email`, or `onAlert` for calls of that hook */
  readonly name: string;
  /** When the last message was sent to it; `null`: never. */
  readonly toldAt: Date | null;
  /** Failed attempts since then. */
  readonly failures: number;
  /** Text of the last one; `null`: the last attempt succeeded. */
  readonly error: string | null;
}

/** How long a destination rests after many failures. */
export const longestRestMs = 300_000;

/**
 * Takes a destination for one message, unless another relay has it, it rests after a failure, or it just got one. A relay
 * that dies in between loses it when the lease ends, and the message may be sent twice.
 *
 * No lease and no rest reaches beyond the longest, so one that reaches twice as far was written before the clock was set back, and
 * counts as over. The message that is on its way under such a lease may be sent twice.
 */
export async function takeDestination(
  sql: Sql,
  name: string,
  { leaseMs, gapMs }: { readonly leaseMs: number; readonly gapMs: number },
): Promise<boolean> {
  const taken = await sql.query(
    `insert into outbox.alert_destination as d (name, leased_until) values ($1, clock_timestamp() + $2::float8 * interval '1 ms')
     on conflict (name) do update set leased_until = excluded.leased_until
       where d.leased_until not between clock_timestamp()
           and clock_timestamp() + 2 * greatest($2::float8, ${longestRestMs}) * interval '1 ms'
         and outbox.lately(d.told_at, $3::float8) is not true
     returning name`,
    [name, leaseMs, gapMs],
  );
  return taken.length > 0;
}

/** Notes what was sent to a destination, and gives it back. */
export async function noteNewsTold(
  database: Database,
  name: string,
  news: readonly AlertNews[],
): Promise<void> {
  await database.transaction(async (sql) => {
    // Whoever notes alerts locks this row, too: both lock several alerts, in any order.
    await sql.query('select from outbox.figures for update');
    await sql.query(
      `update outbox.alert a set told = a.told || jsonb_build_object($1::text, n.news),
         told_at = case when n.news >= a.began_news then clock_timestamp() else a.told_at end
       from jsonb_to_recordset($2::text::jsonb) as n (rule text, subject text, news bigint)
       where a.rule = n.rule and a.subject = n.subject`,
      [
        name,
        JSON.stringify(news.map(({ rule, subject, news: number }) => ({ rule, subject, news: number }))),
      ],
    );
    await noteDestinationTold(sql, name);
  });
}

/** Notes that something was sent to a destination, and gives it back. */
export async function noteDestinationTold(sql: Sql, name: string): Promise<void> {
  await sql.query(
    `update outbox.alert_destination set leased_until = clock_timestamp(), told_at = clock_timestamp(), failures = 0, error = null
     where name = $1`,
    [name],
  );
}

/** Gives a destination back for which there was no message. */
export async function freeDestination(sql: Sql, name: string): Promise<void> {
  await sql.query('update outbox.alert_destination set leased_until = clock_timestamp() where name = $1', [
    name,
  ]);
}

/** Notes a failure. The destination rests for twice as long after each, from one second up to five minutes. */
export async function noteUntold(
  sql: Sql,
  name: string,
  error: string,
): Promise<{ readonly failures: number; readonly retryInMs: number } | undefined> {
  const [row] = await sql.query<{ failures: number; retryInMs: number }>(
    `with failed as (
       select name, failures + 1 as failures, least(${longestRestMs}, 1000 * 2 ^ least(failures, 20))::float8 as rest
       from outbox.alert_destination where name = $1 for update
     )
     update outbox.alert_destination d
     set failures = f.failures, error = $2, leased_until = clock_timestamp() + f.rest * interval '1 ms'
     from failed f where d.name = f.name returning f.failures, f.rest as "retryInMs"`,
    [name, storableText(error)],
  );
  return row;
}

/** All destinations that relays have ever used, by name. */
export async function readDestinations(sql: Sql): Promise<readonly AlertDestination[]> {
  return sql.query<AlertDestination>(
    `select name, told_at as "toldAt", failures, error from outbox.alert_destination order by name limit 100`,
  );
}
