import { OutboxError } from '../../core/errors.ts';
import { reasonOf } from '../../core/reason.ts';

/** Codes of clients that have given up waiting: Node, gRPC (DEADLINE_EXCEEDED), and a statement of PostgreSQL. */
const codes: ReadonlySet<unknown> = new Set(['ETIMEDOUT', 'ESOCKETTIMEDOUT', 4, '57014']);

/** What clients of PostgreSQL, Temporal and brokers say that have no code for it, and this library. */
const words =
  /time[d -]?out|timeout expired|deadline|within \d+(?:\.\d+)? ?m?s|not answer(?:ed)? (?:in time|within)/i;

/** What a machine answers for a server that is not there: clients that try again until their time is over quote it. */
const refusals = /E(?:CONN(?:REFUSED|RESET)|NOTFOUND|HOSTUNREACH|NETUNREACH|AI_AGAIN)|connection refused/i;

/** True if an error says only that no answer came in time: no refusal, and nothing about the server. */
export function isTimeOut(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(isTimeOut);
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? error.code : undefined;
  if (codes.has(code)) return true;
  // Any other SQLSTATE is an answer, as that of a lock that was waited for in vain.
  if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code)) return false;
  if (error instanceof OutboxError && code !== 'OUTBOX_SERVER_UNAVAILABLE') return false;
  if (refusals.test(`${error.message} ${reasonOf(error.cause)}`)) return false;
  return words.test(error.message) || isTimeOut(error.cause);
}
