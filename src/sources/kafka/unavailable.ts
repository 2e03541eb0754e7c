import { OutboxError } from '../../core/errors.ts';
import type { KafkaConnection } from './membership.ts';

/** What is thrown when no broker answers a question. */
export function unavailable({ brokers }: KafkaConnection, cause: unknown): OutboxError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new OutboxError('OUTBOX_SERVER_UNAVAILABLE', `Kafka at ${brokers.join(', ')}: ${reason}`, {
    cause,
    details: { brokers: [...brokers] },
  });
}
