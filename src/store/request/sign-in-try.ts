import type { Database, Sql } from '../database/database.ts';

/** What a try to sign in counts for, and how many wrong ones that may have within the time. */
export interface SignInTry {
  /** A digest: what is tried as a name may be a password. */
  readonly what: string;
  readonly most: number;
}

/** How long a wrong try counts. */
const windowMs = 60_000;
/** Old ones that a new one deletes: more than come. */
const deletedAtOnce = 20;

/**
 * Begins a try, which counts as wrong until it is taken back: many at once, at any number of processes, are no way around the
 * limit.
 *
 * @returns what takes it back; nothing if there have been too many, and then it counts for nothing
 */
export async function beginSignInTry(
  database: Database,
  all: readonly SignInTry[],
): Promise<readonly string[] | undefined> {
  const whats = all.map(({ what }) => what);
  return database.transaction(async (sql) => {
    // Of the same thing one after the other, in one order, because what others have not committed is not seen.
    await sql.query(
      `select pg_advisory_xact_lock(hashtextextended('outbox.sign_in_try ' || w.what, 0))
       from (select u.what from unnest($1::text[]) u (what) order by u.what) w`,
      [whats],
    );
    await sql.query(
      `delete from outbox.sign_in_try t where t.id in (
         select o.id from outbox.sign_in_try o where o.at <= clock_timestamp() - $1 * interval '1 ms'
         order by o.at limit ${deletedAtOnce} for update skip locked)`,
      [windowMs],
    );
    const noted = await sql.query<{ readonly id: string }>(
      `insert into outbox.sign_in_try (what, at)
       select u.what, clock_timestamp() from unnest($1::text[]) u (what)
       where not exists (
         select from unnest($1::text[], $2::integer[]) a (what, most)
         where (select count(*) from outbox.sign_in_try t
           where t.what = a.what and t.at > clock_timestamp() - $3 * interval '1 ms') >= a.most)
       returning id`,
      [whats, all.map(({ most }) => most), windowMs],
    );
    return noted.length === 0 ? undefined : noted.map(({ id }) => id);
  });
}

/** Takes a try back, because it was right. */
export async function endSignInTry(sql: Sql, ids: readonly string[]): Promise<void> {
  await sql.query('delete from outbox.sign_in_try t where t.id = any($1::bigint[])', [ids]);
}
