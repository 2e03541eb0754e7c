import { rest } from '../../core/rest.ts';
import type { Database, Sql } from '../database/database.ts';

/** Maximum time that a change of a table blocks its other users while it waits for its lock, and how often it is tried. */
const lockMs = 200;
const tries = 3;
const pauseMs = 500;
/** Whoever still holds a table after this, in the same transaction, will for longer than a try waits. */
const lookAgainMs = 100;

/**
 * A transaction that changes a table, such as a drop. Each try waits briefly for its locks, a few times; not at all while somebody holds
 * a table for long, such as a dump: whoever comes meanwhile would wait with it, or fail, as the processes of a parallel dump do.
 *
 * @param tables what the work locks exclusively, without schema
 * @returns `false` if it has not got its locks: nothing was done
 */
export async function inBriefLock(
  database: Database,
  tables: readonly string[],
  work: (sql: Sql) => Promise<unknown>,
): Promise<boolean> {
  if (await areHeldLong(database, tables)) return false;
  for (let tried = 1; ; tried += 1) {
    try {
      await database.transaction(async (sql) => {
        await sql.query(`set local lock_timeout = ${lockMs}`);
        await work(sql);
      });
      return true;
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      if (tried === tries) return false;
      await rest(pauseMs);
    }
  }
}

async function areHeldLong(sql: Sql, tables: readonly string[]): Promise<boolean> {
  const before = await holdersOf(sql, tables);
  if (before.length === 0) return false;
  await rest(lookAgainMs);
  const after = new Set(await holdersOf(sql, tables));
  return before.some((transaction) => after.has(transaction));
}

/** The transactions that have locks on these tables: every role sees those of others. */
async function holdersOf(sql: Sql, tables: readonly string[]): Promise<readonly string[]> {
  const rows = await sql.query<{ transaction: string }>(
    `select distinct k.virtualtransaction as transaction from pg_locks k
     where k.locktype = 'relation' and k.granted and k.database = (select d.oid from pg_database d where d.datname = current_database())
       and k.relation in (select to_regclass('outbox.' || t) from unnest($1::text[]) t)`,
    [[...tables]],
  );
  return rows.map(({ transaction }) => transaction);
}

/** SQLSTATE `lock_not_available` */
function isLockTimeout(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === '55P03';
}
