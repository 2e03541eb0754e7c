/**
 * What a failed produce request means.
 *
 * - `hold`: the topic or the transport cannot take messages now; `stored` tells whether this request may have been.
 * - `split`: the broker refused the batch as a whole, surely stored nothing, and one message may be the reason.
 */
export type Failure =
  | {
      readonly kind: 'hold';
      readonly scope: 'topic' | 'transport';
      readonly stored: boolean;
      readonly reason: string;
    }
  | { readonly kind: 'split'; readonly single: 'permanent' | 'rejected'; readonly reason: string };

type Answer =
  | { readonly kind: 'hold'; readonly scope: 'topic' | 'transport'; readonly stored: boolean }
  | { readonly kind: 'split'; readonly single: 'permanent' | 'rejected' };

const holdTopic: Answer = { kind: 'hold', scope: 'topic', stored: false };
const holdTransport: Answer = { kind: 'hold', scope: 'transport', stored: false };
const maybeStored: Answer = { kind: 'hold', scope: 'transport', stored: true };

/**
 * What a broker's answer means, by the name of its error code. One that is not listed blames a message: the batch is
 * split, and a single one is rejected. Those about the connection itself may come while the client reconnects after a
 * request was lost, so they prove nothing about that request.
 */
export const brokerAnswers: Readonly<Record<string, Answer>> = {
  BROKER_NOT_AVAILABLE: holdTransport,
  CLUSTER_AUTHORIZATION_FAILED: holdTransport,
  FENCED_LEADER_EPOCH: holdTopic,
  ILLEGAL_SASL_STATE: maybeStored,
  INVALID_RECORD: { kind: 'split', single: 'permanent' },
  INVALID_TOPIC_EXCEPTION: holdTopic,
  KAFKA_STORAGE_ERROR: { kind: 'hold', scope: 'topic', stored: true },
  LEADER_NOT_AVAILABLE: holdTopic,
  LISTENER_NOT_FOUND: holdTopic,
  MESSAGE_TOO_LARGE: { kind: 'split', single: 'permanent' },
  NETWORK_EXCEPTION: maybeStored,
  NOT_ENOUGH_REPLICAS: holdTopic,
  NOT_ENOUGH_REPLICAS_AFTER_APPEND: { kind: 'hold', scope: 'topic', stored: true },
  NOT_LEADER_FOR_PARTITION: holdTopic,
  RECORD_LIST_TOO_LARGE: { kind: 'split', single: 'permanent' },
  REPLICA_NOT_AVAILABLE: holdTopic,
  REQUEST_TIMED_OUT: { kind: 'hold', scope: 'topic', stored: true },
  SASL_AUTHENTICATION_FAILED: maybeStored,
  TOPIC_AUTHORIZATION_FAILED: holdTopic,
  UNKNOWN_LEADER_EPOCH: holdTopic,
  UNKNOWN_TOPIC_OR_PARTITION: holdTopic,
  UNSUPPORTED_SASL_MECHANISM: maybeStored,
  UNSUPPORTED_VERSION: maybeStored,
};

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
export function classify(error: unknown, sighting: Sighting): Failure {
  const cause = rootCause(error);
  const reason = messageOf(cause);
  const type = textOf(cause, 'type');
  if (type !== undefined) {
    const answer = brokerAnswers[type] ?? { kind: 'split', single: 'rejected' };
    if (answer.kind === 'split' && sighting.written) return { ...answer, reason: `${type}: ${reason}` };
    const scope = answer.kind === 'hold' ? answer.scope : 'transport';
    const stored = answer.kind === 'hold' && answer.stored && sighting.written;
    return { kind: 'hold', scope, stored, reason: `${type}: ${reason}` };
  }
  const scope =
    clientFailures[nameOf(cause)] ?? (isConnectionLoss(cause) && sighting.connected ? 'topic' : 'transport');
  return { kind: 'hold', scope, stored: sighting.written, reason };
}

/** True when the client waited in vain: its connection and its metadata are not to be trusted any more. */
export function isTimeout(error: unknown): boolean {
  const name = nameOf(rootCause(error));
  return name === 'KafkaJSRequestTimeoutError' || name === 'KafkaJSLockTimeout' || name === 'KafkaJSTimeout';
}

/** True when the client sent nothing, because its metadata lacked the topic or a leader, and has renewed it since. */
export function isStaleMetadata(error: unknown): boolean {
  return clientFailures[nameOf(rootCause(error))] !== undefined;
}

/** The text of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
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
