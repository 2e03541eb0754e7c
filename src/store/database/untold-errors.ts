import { untoldError } from '../../core/untold-error.ts';
import type { Database, Sql } from './database.ts';

/**
 * The same database for a reader without the right to payloads. The last error of a message, a kept message or a bulk operation is
 * cut to its class in every row that is read, so that no text that is made of rows repeats it.
 */
export function withUntoldErrors(database: Database): Database {
  return {
    ...untoldRows(database),
    transaction: (work) => database.transaction((sql) => work(untoldRows(sql))),
    openSession: (channel, onNotify) => database.openSession(channel, onNotify),
    close: () => database.close(),
    inOne: database.inOne,
  };
}

/** @see withUntoldErrors */
export function untoldRows(sql: Sql): Sql {
  return {
    query: async <Row>(text: string, values?: readonly unknown[], repeated?: 'repeated') =>
      (await sql.query<Row>(text, values, repeated)).map(untold),
  };
}

function untold<Row>(row: Row): Row {
  if (typeof row !== 'object' || row === null || !('lastError' in row)) return row;
  return typeof row.lastError === 'string' ? { ...row, lastError: untoldError(row.lastError) } : row;
}
