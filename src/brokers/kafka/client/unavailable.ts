import { OutboxError } from '../../../core/errors.ts';
import type { KafkaConnection } from './connection.ts';
import { kafkaReason } from './reason.ts';

/** The error for missing topics, thrown or reported. */
export function missing({ servers }: KafkaConnection, addresses: readonly string[]): OutboxError {
  const what = addresses.length === 1 ? 'topic' : 'topics';
  return new OutboxError(
    'OUTBOX_ADDRESS_MISSING',
    `Kafka at ${servers.join(', ')} has no ${what} ${addresses.join(', ')} that this client may see: nothing is received from there until it exists.`,
    { details: { addresses: [...addresses], servers: [...servers] } },
  );
}

/** The error if no broker answers. */
export function unavailable({ servers }: KafkaConnection, cause: unknown): OutboxError {
  return new OutboxError(
    'OUTBOX_SERVER_UNAVAILABLE',
    `Kafka at ${servers.join(', ')}: ${kafkaReason(cause)}`,
    {
      cause,
      details: { server: 'Kafka', servers: [...servers] },
    },
  );
}
