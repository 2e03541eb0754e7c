import { platformaticKafka } from '../client/platformatic.ts';
import type { ProduceAnswer } from './produce-request.ts';
import type { Unanswered } from './unanswered.ts';

/**
 * What a failed produce request means.
 *
 * - `hold`: the topic or the transport cannot take messages now; `stored` says whether this request may have been.
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

type BrokerAnswer =
  | { readonly kind: 'hold'; readonly scope: 'topic' | 'transport'; readonly stored: boolean }
  | { readonly kind: 'split'; readonly single: 'permanent' | 'rejected' | 'ambiguous' };

const refusedTopic: BrokerAnswer = { kind: 'hold', scope: 'topic', stored: false };
const maybeInTopic: BrokerAnswer = { kind: 'hold', scope: 'topic', stored: true };
const maybeStored: BrokerAnswer = { kind: 'hold', scope: 'transport', stored: true };
const refusedForever: BrokerAnswer = { kind: 'split', single: 'permanent' };

/**
 * What a broker's answer means, by its error code; the names are Kafka's.
 *
 * Only what Kafka checks before it appends proves that nothing was stored. A leader that appends, and then loses the
 * leadership or times out waiting for its replicas, answers with the codes of one that did not append (seen in a cluster with
 * moving leaders).
 */
export const brokerAnswers: Readonly<Record<number, readonly [name: string, answer: BrokerAnswer]>> = {
  2: ['CORRUPT_MESSAGE', { kind: 'split', single: 'rejected' }],
  3: ['UNKNOWN_TOPIC_OR_PARTITION', maybeInTopic],
  5: ['LEADER_NOT_AVAILABLE', maybeInTopic],
  6: ['NOT_LEADER_OR_FOLLOWER', maybeInTopic],
  7: ['REQUEST_TIMED_OUT', maybeInTopic],
  8: ['BROKER_NOT_AVAILABLE', maybeStored],
  9: ['REPLICA_NOT_AVAILABLE', maybeInTopic],
  10: ['MESSAGE_TOO_LARGE', refusedForever],
  13: ['NETWORK_EXCEPTION', maybeStored],
  17: ['INVALID_TOPIC_EXCEPTION', refusedTopic],
  18: ['RECORD_LIST_TOO_LARGE', refusedForever],
  19: ['NOT_ENOUGH_REPLICAS', refusedTopic],
  20: ['NOT_ENOUGH_REPLICAS_AFTER_APPEND', maybeInTopic],
  29: ['TOPIC_AUTHORIZATION_FAILED', refusedTopic],
  31: ['CLUSTER_AUTHORIZATION_FAILED', maybeStored],
  32: ['INVALID_TIMESTAMP', refusedTopic],
  33: ['UNSUPPORTED_SASL_MECHANISM', maybeStored],
  34: ['ILLEGAL_SASL_STATE', maybeStored],
  35: ['UNSUPPORTED_VERSION', maybeStored],
  56: ['KAFKA_STORAGE_ERROR', maybeInTopic],
  58: ['SASL_AUTHENTICATION_FAILED', maybeStored],
  72: ['LISTENER_NOT_FOUND', maybeInTopic],
  74: ['FENCED_LEADER_EPOCH', maybeInTopic],
  75: ['UNKNOWN_LEADER_EPOCH', maybeInTopic],
  87: ['INVALID_RECORD', refusedForever],
};

/** One that is not listed blames a message, or nobody, and proves nothing: the server may have failed after the append. */
const unlisted: BrokerAnswer = { kind: 'split', single: 'ambiguous' };

const invalidTimestamp = 32;

/** Says what a broker's answer means that is not that it has stored the batch. */
export function answerFailure({ code, message }: Pick<ProduceAnswer, 'code' | 'message'>): KafkaFailure {
  const answer = brokerAnswers[code]?.[1] ?? unlisted;
  const word = code === invalidTimestamp ? wordOnTheClock() : '';
  return { ...answer, reason: `${textOf(code, message)}${word}` };
}

/**
 * Says what a missing answer means.
 *
 * @param connected true while any broker is connected: then one broker is away, not the transport
 */
export function lossFailure({ message, written }: Unanswered, connected: boolean): KafkaFailure {
  return { kind: 'hold', scope: connected ? 'topic' : 'transport', stored: written, reason: message };
}

/** No message is to blame for the time at which it is sent, and brokers do not disclose their own. */
function wordOnTheClock(): string {
  return (
    ` (this relay's clock says ${new Date().toISOString()}: set it right,` +
    ' or widen message.timestamp.after.max.ms or message.timestamp.before.max.ms of the topic)'
  );
}

/** The code's name, and what the broker says; Kafka's own text where it says nothing. */
function textOf(code: number, message: string | null): string {
  const { protocolErrors, protocolErrorsCodesById } = platformaticKafka();
  const id = protocolErrorsCodesById[code];
  if (id === undefined) return `error code ${code}: ${message ?? 'unknown to this version.'}`;
  return `${id}: ${message ?? protocolErrors[id]?.message ?? ''}`;
}
