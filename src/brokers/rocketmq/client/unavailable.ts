import { OutboxError } from '../../../core/errors.ts';
import type { RocketmqConnection } from './connection.ts';

/** The error if no proxy answers a request, or one refuses it. */
export function proxyUnavailable({ endpoints }: RocketmqConnection, cause: unknown): OutboxError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new OutboxError('OUTBOX_SERVER_UNAVAILABLE', `RocketMQ at ${endpoints.join(', ')}: ${reason}`, {
    cause,
    details: { endpoints: [...endpoints] },
  });
}

/** The error if topics are missing. */
export function addressMissing({ endpoints }: RocketmqConnection, addresses: readonly string[]): OutboxError {
  const what = addresses.length === 1 ? 'topic' : 'topics';
  return new OutboxError(
    'OUTBOX_ADDRESS_MISSING',
    `RocketMQ at ${endpoints.join(', ')} has no ${what} ${addresses.join(', ')}: nothing is received before it exists.`,
    { details: { addresses: [...addresses], endpoints: [...endpoints] } },
  );
}

/** The error if a consumer group is missing, or its settings do not fit its topics. */
export function groupUnfit({ endpoints }: RocketmqConnection, what: string): OutboxError {
  return new OutboxError('OUTBOX_GROUP_UNFIT', `RocketMQ at ${endpoints.join(', ')}: ${what}`, {
    details: { endpoints: [...endpoints] },
  });
}
