import { OutboxError, type OutboxErrorCode } from '../../../core/errors.ts';
import { codeTextOf, ownReasonOf } from '../../../core/reason.ts';
import { isTlsFailure } from '../../../core/tls-failure.ts';
import type { RocketmqConnection } from './connection.ts';
import { lacksPrivilege, NoAnswer, RefusedRequest } from './failure.ts';

/**
 * The error if no proxy, name server or broker answers a request, or one refuses it: `OUTBOX_SERVER_UNAVAILABLE`,
 * `OUTBOX_SERVER_REFUSED` for a wrong user or secret, `OUTBOX_PRIVILEGE_MISSING`, or `OUTBOX_TLS_FAILED`.
 */
export function serverFailure({ servers }: Pick<RocketmqConnection, 'servers'>, cause: unknown): OutboxError {
  const said = ownReasonOf(cause);
  const reason = isRemotingTls(cause) ? `TLS (\`brokerTls\`) failed: ${said}` : said;
  return new OutboxError(codeFor(cause), `RocketMQ at ${servers.join(', ')}: ${reason}`, {
    cause,
    details: { server: 'RocketMQ', servers: [...servers] },
  });
}

function codeFor(cause: unknown): OutboxErrorCode {
  if (cause instanceof RefusedRequest) {
    if (lacksPrivilege(cause)) return 'OUTBOX_PRIVILEGE_MISSING';
    if (cause.status === 'UNAUTHORIZED') return 'OUTBOX_SERVER_REFUSED';
  }
  const isTls = cause instanceof NoAnswer ? cause.isTls : isRemotingTls(cause);
  return isTls ? 'OUTBOX_TLS_FAILED' : 'OUTBOX_SERVER_UNAVAILABLE';
}

/** Node's own error, which name servers and brokers are asked with; gRPC has others. */
function isRemotingTls(cause: unknown): boolean {
  return cause instanceof Error && isTlsFailure(codeTextOf(cause));
}

/** The error if topics are missing. */
export function addressMissing({ servers }: RocketmqConnection, addresses: readonly string[]): OutboxError {
  const what = addresses.length === 1 ? 'topic' : 'topics';
  return new OutboxError(
    'OUTBOX_ADDRESS_MISSING',
    `RocketMQ at ${servers.join(', ')} has no ${what} ${addresses.join(', ')}: nothing is sent or received before it exists.`,
    { details: { addresses: [...addresses], servers: [...servers] } },
  );
}

/** The error if a consumer group is missing, or its settings do not fit its topics. */
export function groupUnfit({ servers }: RocketmqConnection, what: string): OutboxError {
  return new OutboxError('OUTBOX_GROUP_UNFIT', `RocketMQ at ${servers.join(', ')}: ${what}`, {
    details: { servers: [...servers] },
  });
}
