import { OutboxError } from '../../core/errors.ts';

/** An error with the SQLSTATE of a connection failure, so that it does not count against a message. */
class ConnectionLost extends Error {
  readonly code = '08006';
}

/** The error of a database that cannot be reached through the user's pool. */
export function databaseUnavailable(what: string, cause?: unknown): OutboxError {
  const said = what.trim().replace(/\.$/, '');
  return new OutboxError('OUTBOX_SERVER_UNAVAILABLE', `The pool cannot reach PostgreSQL: ${said}.`, {
    details: { server: 'PostgreSQL' },
    cause: new ConnectionLost(said, { cause }),
  });
}
