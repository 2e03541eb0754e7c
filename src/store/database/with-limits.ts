import { OutboxError } from '../../core/errors.ts';
import type { Database, Sql } from './database.ts';
import type { StatementLimits } from './pool.ts';

/**
 * The same database, in which the server gives each statement outside of a transaction, and each of one, these limits. Without
 * `statementMs` a statement may take as long as it needs, but for its locks.
 */
export function withLimits(
  database: Database,
  { lockMs, statementMs }: Partial<StatementLimits> & Pick<StatementLimits, 'lockMs'>,
): Database {
  const limits = `set local lock_timeout = ${lockMs}${statementMs === undefined ? '' : `; set local statement_timeout = ${statementMs}`}`;
  const limited = <Result>(work: (sql: Sql) => Promise<Result>): Promise<Result> =>
    database.transaction(async (sql) => {
      await sql.query(limits);
      return work(sql);
    });
  return {
    query: (text, values) => limited((sql) => sql.query(text, values)),
    transaction: limited,
    openSession: (channel, onNotify) => database.openSession(channel, onNotify),
    close: async () => undefined,
  };
}

/** The error for a statement that the server has canceled at its limit, or at that of its locks; nothing for another error. */
export function tookTooLong(error: unknown): OutboxError | undefined {
  if (!(error instanceof Error && 'code' in error && (error.code === '57014' || error.code === '55P03')))
    return undefined;
  return new OutboxError('OUTBOX_SERVER_UNAVAILABLE', 'A statement took too long and was ended.', {
    details: { server: 'PostgreSQL' },
    cause: error,
  });
}
