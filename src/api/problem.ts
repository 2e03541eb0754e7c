import type { StoredAnswer } from '../app/operations/served-operations.ts';
import { OutboxError, type OutboxErrorCode } from '../core/errors.ts';

/** Statuses of the errors that a caller can do something about. All others are failures of the server. */
const statuses: Readonly<Partial<Record<OutboxErrorCode, number>>> = {
  OUTBOX_BULK_UNEXPECTED: 409,
  OUTBOX_BULK_UNKNOWN: 404,
  OUTBOX_CHANGE_UNDER_WAY: 409,
  OUTBOX_CONFLICT: 409,
  OUTBOX_CONNECTIONS_EXHAUSTED: 503,
  OUTBOX_DELAY_OUT_OF_RANGE: 422,
  OUTBOX_HEADER_INVALID: 422,
  OUTBOX_ID_INVALID: 400,
  OUTBOX_LANE_LOCKED: 503,
  OUTBOX_GROUP_UNKNOWN: 404,
  OUTBOX_MESSAGE_BUSY: 409,
  OUTBOX_MESSAGE_UNKNOWN: 404,
  OUTBOX_MIGRATION_MISSING: 503,
  OUTBOX_OPTION_INVALID: 400,
  OUTBOX_PAYLOAD_INVALID: 422,
  OUTBOX_PAYLOAD_TOO_LARGE: 422,
  OUTBOX_PRIVILEGE_MISSING: 503,
  OUTBOX_REF_TAKEN: 409,
  OUTBOX_REQUEST_CROSS_SITE: 403,
  OUTBOX_REQUEST_DENIED: 403,
  OUTBOX_REQUEST_INVALID: 400,
  OUTBOX_REQUEST_LIMITED: 429,
  OUTBOX_REQUEST_REPEATED: 422,
  OUTBOX_REQUEST_TOO_LARGE: 413,
  OUTBOX_REQUEST_UNPROVED: 401,
  OUTBOX_ROW_SECURITY_ACTIVE: 503,
  OUTBOX_SCHEDULE_UNKNOWN: 404,
  OUTBOX_SCHEMA_EMPTIED: 503,
  OUTBOX_SERVER_REFUSED: 503,
  OUTBOX_SERVER_UNAVAILABLE: 503,
  OUTBOX_STILL_DELIVERING: 409,
  OUTBOX_TLS_FAILED: 503,
  OUTBOX_TOPIC_UNKNOWN: 404,
  OUTBOX_TRANSPORT_UNKNOWN: 404,
};

/** Media type of every error, RFC 9457. */
export const problemType = 'application/problem+json';

/** What a failure of the server discloses: its cause is in the log, not in the answer, because it names hosts and statements. */
function unknownCause(status: number, known: OutboxError | undefined): string | undefined {
  if (status === 500) return 'The request failed.';
  return status === 503 ? `${kindOfServer(known)} does not answer, or is not prepared.` : undefined;
}

/** As errors name it: only a kind, such as PostgreSQL, because others may have an address there. */
function kindOfServer(known: OutboxError | undefined): string {
  const server = known?.details['server'];
  const isKind = typeof server === 'string' && /^[A-Za-z][A-Za-z ]*$/.test(server);
  return isKind ? `${server}, which the request needs,` : 'A server that the request needs';
}

/** An answer to a request that was not carried out. */
export interface ProblemAnswer extends StoredAnswer {
  readonly code: OutboxErrorCode;
}

/**
 * Makes the answer of an error.
 *
 * @param status another one than that of the code
 */
export function problemOf(error: unknown, requestId: string, status?: number): ProblemAnswer {
  const known = error instanceof OutboxError ? error : undefined;
  const at = status ?? (known && statuses[known.code]) ?? 500;
  const code = known === undefined || at === 500 ? 'OUTBOX_REQUEST_FAILED' : known.code;
  const { next } = at === 500 || known === undefined ? failed : known;
  const detail = unknownCause(at, known) ?? known?.message ?? '';
  const body = JSON.stringify({
    type: 'about:blank',
    title: titles[at] ?? 'Error',
    status: at,
    detail,
    code,
    next,
    ...(at < 500 && known !== undefined && { details: known.details }),
    instance: `urn:uuid:${requestId}`,
    requestId,
  });
  return { status: at, body, code };
}

const failed = new OutboxError('OUTBOX_REQUEST_FAILED', 'The request failed.');

const titles: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  409: 'Conflict',
  413: 'Content Too Large',
  414: 'URI Too Long',
  415: 'Unsupported Media Type',
  421: 'Misdirected Request',
  422: 'Unprocessable Content',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
};
