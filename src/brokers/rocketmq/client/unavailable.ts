import { OutboxError } from '../../../core/errors.ts';
import type { RocketmqConnection } from './connection.ts';

/** The error if no proxy answers a request, or one refuses it. */
export function proxyUnavailable(
  { servers }: Pick<RocketmqConnection, 'servers'>,
  cause: unknown,
): OutboxError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new OutboxError('OUTBOX_SERVER_UNAVAILABLE', `RocketMQ at ${servers.join(', ')}: ${reason}`, {
    cause,
    details: { servers: [...servers] },
  });
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
