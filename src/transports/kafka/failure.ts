import { kafkaReason } from '../../kafka/reason.ts';

/**
 * What a failed produce request means.
 *
 * - `hold`: the topic or the transport cannot take messages now; `stored` tells whether this request may have been.
 * - `split`: one message may be the reason, so the batch is halved. `single` is the outcome of one that is refused
 *   alone: `ambiguous` where the answer does not say that nothing was stored.
 */
export type KafkaFailure =
  | {
      readonly kind: 'hold';
      readonly scope: 'topic' | 'transport';
      readonly stored: boolean;
      readonly reason: string;
    }
  | {
      readonly kind: 'split';
      readonly single: 'permanent' | 'rejected' | 'ambiguous';
      readonly reason: string;
    };

type Answer =
  | { readonly kind: 'hold'; readonly scope: 'topic' | 'transport'; readonly stored: boolean }
  | { readonly kind: 'split'; readonly single: 'permanent' | 'rejected' | 'ambiguous' };

const refusedTopic: Answer = { kind: 'hold', scope: 'topic', stored: false };
const maybeInTopic: Answer = { kind: 'hold', scope: 'topic', stored: true };
const maybeStored: Answer = { kind: 'hold', scope: 'transport', stored: true };
const refusedForever: Answer = { kind: 'split', single: 'permanent' };

/**
 * What a broker's answer means, by the name of its error code.
 *
 * Only what Kafka checks before it appends proves that nothing was stored. A leader that appends, and then loses its
 * place or times out waiting for its replicas, answers with the codes of one that did not append (seen in a cluster with
 * moving leaders); those about the connection may come while the client reconnects after a request was lost.
 */
export const brokerAnswers: Readonly<Record<string, Answer>> = {
  BROKER_NOT_AVAILABLE: maybeStored,
  CLUSTER_AUTHORIZATION_FAILED: maybeStored,
  CORRUPT_MESSAGE: { kind: 'split', single: 'rejected' },
  FENCED_LEADER_EPOCH: maybeInTopic,
  ILLEGAL_SASL_STATE: maybeStored,
  INVALID_RECORD: refusedForever,
  INVALID_TIMESTAMP: refusedTopic,
  INVALID_TOPIC_EXCEPTION: refusedTopic,
  KAFKA_STORAGE_ERROR: maybeInTopic,
  LEADER_NOT_AVAILABLE: maybeInTopic,
  LISTENER_NOT_FOUND: maybeInTopic,
  MESSAGE_TOO_LARGE: refusedForever,
  NETWORK_EXCEPTION: maybeStored,
  NOT_ENOUGH_REPLICAS: refusedTopic,
  NOT_ENOUGH_REPLICAS_AFTER_APPEND: maybeInTopic,
  NOT_LEADER_FOR_PARTITION: maybeInTopic,
  RECORD_LIST_TOO_LARGE: refusedForever,
  REPLICA_NOT_AVAILABLE: maybeInTopic,
  REQUEST_TIMED_OUT: maybeInTopic,
  SASL_AUTHENTICATION_FAILED: maybeStored,
  TOPIC_AUTHORIZATION_FAILED: refusedTopic,
  UNKNOWN_LEADER_EPOCH: maybeInTopic,
  UNKNOWN_TOPIC_OR_PARTITION: maybeInTopic,
  UNSUPPORTED_SASL_MECHANISM: maybeStored,
  UNSUPPORTED_VERSION: maybeStored,
};

/** One that is not listed blames a message, or nobody, and proves nothing: the server may have failed after the append. */
const unlisted: Answer = { kind: 'split', single: 'ambiguous' };

/** Failures of the client before or without an answer, by the name of its error class. All others hold the transport. */
const clientFailures: Readonly<Record<string, 'topic' | 'transport'>> = {
  KafkaJSBrokerNotFound: 'topic',
  KafkaJSMetadataNotLoaded: 'topic',
  KafkaJSTopicMetadataNotLoaded: 'topic',
};

/** What was seen of a produce request from outside of the client. */
export interface Sighting {
  /** True once the client began to write the request: from then on only an answer proves that nothing was stored. */
  readonly written: boolean;
  /** True while another connection of the client is open: then one broker is away, not the transport. */
  readonly connected: boolean;
}

/**
 * Says what an error thrown by `producer.send` means.
 *
 * An error code is the broker's answer to this request (metadata never throws one: see `metadata-tolerance.ts`). An
 * error without a code after the request was written may hide any answer, because the client reconnects before it
 * throws and lets that failure win; so it counts as maybe stored.
 */
export function classify(error: unknown, sighting: Sighting): KafkaFailure {
  const cause = rootCause(error);
  const reason = kafkaReason(cause);
  const type = textOf(cause, 'type');
  if (type !== undefined) {
    const answer = brokerAnswers[type] ?? unlisted;
    const told = `${type}: ${reason}${type === 'INVALID_TIMESTAMP' ? wordOnTheClock() : ''}`;
    if (answer.kind === 'split' && sighting.written) return { ...answer, reason: told };
    const scope = answer.kind === 'hold' ? answer.scope : 'transport';
    const stored = answer.kind === 'hold' && answer.stored && sighting.written;
    return { kind: 'hold', scope, stored, reason: told };
  }
  const scope =
    clientFailures[nameOf(cause)] ?? (isConnectionLoss(cause) && sighting.connected ? 'topic' : 'transport');
  return { kind: 'hold', scope, stored: sighting.written, reason };
}

/** No message is to blame for the time at which it is sent, and brokers do not tell their own. */
function wordOnTheClock(): string {
  return (
    ` (this relay's clock says ${new Date().toISOString()}: set it right,` +
    ' or widen message.timestamp.after.max.ms or message.timestamp.before.max.ms of the topic)'
  );
}

/** True when the client got no answer: its connection and its metadata can no longer be trusted. */
export function isTimeout(error: unknown): boolean {
  const name = nameOf(rootCause(error));
  return name === 'KafkaJSRequestTimeoutError' || name === 'KafkaJSLockTimeout' || name === 'KafkaJSTimeout';
}

/** True when the client sent nothing, because its metadata lacked the topic or a leader, and has renewed it since. */
export function isStaleMetadata(error: unknown): boolean {
  return clientFailures[nameOf(rootCause(error))] !== undefined;
}

// kafkajs wraps what it gives up on, even with retries off.
function rootCause(error: unknown): unknown {
  let current = error;
  while (
    current instanceof Error &&
    textOf(current, 'type') === undefined &&
    current.cause instanceof Error
  ) {
    current = current.cause;
  }
  return current;
}

function isConnectionLoss(error: unknown): boolean {
  const name = nameOf(error);
  return name === 'KafkaJSConnectionError' || name === 'KafkaJSConnectionClosedError';
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : '';
}

function textOf(value: unknown, property: string): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const text: unknown = Reflect.get(value, property);
  return typeof text === 'string' ? text : undefined;
}
