import type { Database, Sql } from '../database/database.ts';

/** Carries the answer of a transaction that is rolled back on purpose. */
class Rehearsed extends Error {
  readonly answer: unknown;

  constructor(answer: unknown) {
    super('rehearsed');
    this.answer = answer;
  }
}

/**
 * Runs `work` in a transaction; a dry run is rolled back at its end, so that it returns what would happen, and changes
 * nothing.
 */
export async function transactOrRehearse<Result>(
  database: Database,
  rehearsal: boolean,
  work: (sql: Sql) => Promise<Result>,
): Promise<Result> {
  if (!rehearsal) return database.transaction(work);
  try {
    return await database.transaction<never>(async (sql) => {
      throw new Rehearsed(await work(sql));
    });
  } catch (error) {
    if (error instanceof Rehearsed) return error.answer as Result;
    throw error;
  }
}
