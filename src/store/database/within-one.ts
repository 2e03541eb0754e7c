import type { Database, Sql } from './database.ts';

/** How one transaction runs. */
export interface OneTransaction {
  /** True: the server refuses every write. */
  readonly readOnly: boolean;
  /** The server ends a statement that takes longer, and so the transaction. */
  readonly statementMs: number;
}

/**
 * Runs `work` on a database whose statements and transactions are all parts of one transaction: either everything that it did is
 * committed, or nothing. A part that fails, or is rehearsed, is undone alone.
 *
 * Its locks last until the end, so work that waits undoes first what it has locked: see {@link Database.inOne}.
 */
export function withinOne<Result>(
  database: Database,
  { readOnly, statementMs }: OneTransaction,
  work: (at: Database, sql: Sql) => Promise<Result>,
): Promise<Result> {
  return database.transaction(async (sql) => {
    await sql.query(`set local statement_timeout = ${statementMs}`);
    if (readOnly) await sql.query('set transaction read only');
    const at = partsOf(database, sql);
    const result = await work(at, at);
    // A failure that `work` ignored has aborted the transaction: its commit would be a rollback without an error.
    await sql.query('select');
    return result;
  });
}

function partsOf(database: Database, sql: Sql): Database {
  const turns = new Turns();
  return {
    query: (text, values) => turns.take(() => sql.query(text, values)),
    transaction: (work) => turns.take(() => asPart(sql, work)),
    openSession: (channel, onNotify) => database.openSession(channel, onNotify),
    close: async () => undefined,
    inOne: true,
  };
}

async function asPart<Result>(sql: Sql, work: (sql: Sql) => Promise<Result>): Promise<Result> {
  const turns = new Turns();
  await sql.query('savepoint part');
  try {
    const result = await work({ query: (text, values) => turns.take(() => sql.query(text, values)) });
    await sql.query('release savepoint part');
    return result;
  } catch (error) {
    // Without a connection there is nothing to undo, and the first error says more.
    await sql.query('rollback to savepoint part').catch(() => undefined);
    throw error;
  }
}

/** One after the other: a statement between a savepoint and its end would be undone with it. */
class Turns {
  #last: Promise<unknown> = Promise.resolve();

  take<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}
