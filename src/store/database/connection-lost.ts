import { OutboxError } from '../../core/errors.ts';

/** Says by its code, SQLSTATE of a connection failure, that the error is no message's fault. */
class ConnectionLost extends Error {
  readonly code = '08006';
}

/** The error of a database that cannot be reached through the pool of somebody else. */
export function databaseUnavailable(what: string, cause?: unknown): OutboxError {
  const said = what.trim().replace(/\.$/, '');
  return new OutboxError('OUTBOX_SERVER_UNAVAILABLE', `PostgreSQL, as the pool reaches it: ${said}.`, {
    details: { server: 'PostgreSQL' },
    cause: new ConnectionLost(said, { cause }),
  });
}
