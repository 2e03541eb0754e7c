import type { Database } from '../../../src/store/database/database.ts';

/**
 * A database that calls `after` with the statements of each transaction once that is committed, and before its answer. If `after`
 * rejects, the answer is lost.
 */
export function afterCommits(
  database: Database,
  after: (texts: readonly string[]) => void | Promise<void>,
): Database {
  return {
    ...database,
    async transaction(work) {
      const texts: string[] = [];
      const result = await database.transaction((sql) =>
        work({
          query(text, values, repeated) {
            texts.push(text);
            return sql.query(text, values, repeated);
          },
        }),
      );
      await after(texts);
      return result;
    },
  };
}
