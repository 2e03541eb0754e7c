import { OutboxError } from '../../core/errors.ts';
import { reasonOf } from '../../core/reason.ts';

/** Codes of clients that have given up waiting: Node, gRPC (DEADLINE_EXCEEDED), and a statement of PostgreSQL. */
const codes: ReadonlySet<unknown> = new Set(['ETIMEDOUT', 'ESOCKETTIMEDOUT', 4, '57014']);

/** Messages of clients of PostgreSQL, Temporal and brokers that have no code for it, and of this library. */
const words =
  /time[d -]?out|timeout expired|deadline|within \d+(?:\.\d+)? ?m?s|not answer(?:ed)? (?:in time|within)/i;

/** Answers of a machine without the server: clients that retry until their time is over quote them. */
const refusals = /E(?:CONN(?:REFUSED|RESET)|NOTFOUND|HOSTUNREACH|NETUNREACH|AI_AGAIN)|connection refused/i;

/** True if an error says only that no answer came in time: no refusal, and nothing about the server. */
export function isTimeOut(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(isTimeOut);
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? error.code : undefined;
  if (codes.has(code)) return true;
  // Any other SQLSTATE is an answer, such as that of a lock that was not granted in time.
  if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code)) return false;
  if (error instanceof OutboxError && code !== 'OUTBOX_SERVER_UNAVAILABLE') return false;
  if (refusals.test(`${error.message} ${reasonOf(error.cause)}`)) return false;
  return words.test(error.message) || isTimeOut(error.cause);
}
