import { addressOfDatabase } from '../../core/database-address.ts';
import { OutboxError } from '../../core/errors.ts';
import { codeTextOf, reasonOf } from '../../core/reason.ts';
import { isTlsFailure } from '../../core/tls-failure.ts';
import { isConnectionFailure } from './database.ts';

/** SQLSTATEs of a server that answers but refuses the connection: authorization, password, database. */
const refusals = new Set(['28000', '28P01', '3D000']);
/** Of the server, of the database or of the role. */
const tooManyConnections = '53300';
/** Error codes of sockets, including those of name resolution. */
const socketCodes = new Set([
  'EAI_AGAIN',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
]);
/** Error texts of `pg` if TLS could not begin. */
const tlsWords = /^(?:The server does not support SSL connections|There was an error establishing an SSL)/;
const clientWords =
  /^(?:Connection terminated|timeout (?:exceeded|expired)|Query read timeout|Client has encountered a connection)/;

/**
 * Makes the error of a failed connection, with the address of the server and the database, never the password.
 *
 * @param url of the database
 * @returns `undefined` for an error of a statement, and for an OutboxError
 */
export function databaseFailure(url: string, error: unknown): OutboxError | undefined {
  if (!(error instanceof Error) || error instanceof OutboxError || error.name.startsWith('KafkaJS'))
    return undefined;
  const code = codeTextOf(error);
  const { address, database } = addressOfDatabase(url);
  const said = reasonOf(error).replace(/\.$/, '');
  if (isTlsFailure(code) || tlsWords.test(error.message)) {
    return new OutboxError(
      'OUTBOX_TLS_FAILED',
      `TLS with PostgreSQL at ${address} (database "${database}") failed: ${said}.`,
      { details: { server: 'PostgreSQL', address, database }, cause: error },
    );
  }
  if (code === tooManyConnections)
    return new OutboxError(
      'OUTBOX_CONNECTIONS_EXHAUSTED',
      `PostgreSQL at ${address} (database "${database}") gives no further connection: ${said}.`,
      { details: { server: 'PostgreSQL', address, database }, cause: error },
    );
  const refused = refusals.has(code);
  if (!refused && !isAway(error, code)) return undefined;
  return new OutboxError(
    refused ? 'OUTBOX_SERVER_REFUSED' : 'OUTBOX_SERVER_UNAVAILABLE',
    refused
      ? `PostgreSQL at ${address} refuses a connection to the database "${database}": ${said}.`
      : `PostgreSQL does not answer at ${address} (database "${database}"): ${said}.`,
    { details: { server: 'PostgreSQL', address, database }, cause: error },
  );
}

function isAway(error: Error, code: string): boolean {
  if (/^[0-9A-Z]{5}$/.test(code) && 'severity' in error) return isConnectionFailure(error);
  if (error instanceof AggregateError) return error.errors.every((each) => socketCodes.has(codeTextOf(each)));
  return socketCodes.has(code) || clientWords.test(error.message);
}

/** SQLSTATEs of a server that recovers or has just ended, and codes of sockets where nothing listens yet, or no longer. */
const startingCodes = new Set(['57P01', '57P02', '57P03', 'ECONNREFUSED', 'ECONNRESET']);
const endedWords = /^Connection terminated unexpectedly/;

/** True if the server may be starting, or be started again. */
export function mayBeStarting(error: unknown): boolean {
  const all: readonly unknown[] = error instanceof AggregateError ? error.errors : [error];
  return all.some(
    (one) => startingCodes.has(codeTextOf(one)) || (one instanceof Error && endedWords.test(one.message)),
  );
}

/** True if the server says so. */
export function saysStarting(error: unknown): boolean {
  return codeTextOf(error) === '57P03';
}
