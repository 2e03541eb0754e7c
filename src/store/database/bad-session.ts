import { layersOf } from '../../core/error-layers.ts';
import { OutboxError } from '../../core/errors.ts';
import { flagCell, readRow } from './answers.ts';
import type { Sql } from './database.ts';

/** Nothing can be written: a standby, or a session that began while its database was read-only. */
const readOnlyState = '25006';

/** SQLSTATEs, or classes of them, after which a session is of no use, however well its server is. */
const endings = [
  '08', // connection exceptions
  '25P03', // idle in a transaction for too long
  '25P04', // the limit of transactions
  '57P', // shutdown, crash, start
  readOnlyState,
];

/**
 * True if the session that gave this error must be ended instead of used again: a session takes some settings when it begins,
 * and keeps them after the server's have changed.
 */
export function spoilsSession(error: unknown): boolean {
  return statesOf(error).some((state) => endings.some((ending) => state.startsWith(ending)));
}

/** True if the error says that its session may only read. */
export function saysReadOnly(error: unknown): boolean {
  return statesOf(error).includes(readOnlyState);
}

/**
 * Ends the session if it may only read, whoever has the pool, also behind a pooler.
 *
 * @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE` if it was read-only
 */
export async function endIfReadOnly(sql: Sql): Promise<void> {
  const rows = await sql.query<object>(`select current_setting('transaction_read_only') = 'on' as reads`);
  if (!readRow(rows, { reads: flagCell }).reads) return;
  // It ends the connection, so it has no answer. A role may end its own sessions.
  await sql
    .query('select pg_catalog.pg_terminate_backend(pg_catalog.pg_backend_pid())')
    .catch(() => undefined);
  throw new OutboxError(
    'OUTBOX_SERVER_UNAVAILABLE',
    'The session of PostgreSQL is read-only. It is ended, and the next one is a new one.',
    { details: { server: 'PostgreSQL' }, cause: new ReadOnlySession('The session is read-only.') },
  );
}

/** With the SQLSTATE of it, so that it does not count against a message. */
class ReadOnlySession extends Error {
  readonly code = readOnlyState;
}

function statesOf(error: unknown): readonly string[] {
  return layersOf(error)
    .flatMap(({ code, originalCode }) => [code, originalCode])
    .filter((code): code is string => typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code));
}
