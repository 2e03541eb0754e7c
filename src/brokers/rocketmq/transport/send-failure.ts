import { ownReasonOf } from '../../../core/reason.ts';
import type { SendOutcome } from '../../send-by-key.ts';
import { lacksPrivilege, NoAnswer, RefusedRequest } from '../client/failure.ts';

/**
 * What a failed send means.
 *
 * - `hold`: the topic or the transport accepts nothing now; `stored`: this message may have been stored.
 * - `permanent`, `rejected`: this message is refused. `ambiguous`: unknown.
 */
export type Meaning =
  | { readonly kind: 'hold'; readonly scope: 'topic' | 'transport'; readonly stored: boolean }
  | { readonly kind: 'permanent' | 'rejected' | 'ambiguous' };

const permanent: Meaning = { kind: 'permanent' };
const ambiguous: Meaning = { kind: 'ambiguous' };
const topicAway: Meaning = { kind: 'hold', scope: 'topic', stored: false };
const topicSilent: Meaning = { kind: 'hold', scope: 'topic', stored: true };
const transportAway: Meaning = { kind: 'hold', scope: 'transport', stored: false };

/** The meaning of each status of the proxy, by its name in the protocol. */
export const statusMeanings: Readonly<Record<string, Meaning>> = {
  BAD_REQUEST: permanent,
  CLIENT_ID_REQUIRED: transportAway,
  // For this topic.
  FORBIDDEN: topicAway,
  // The required replicas do not have the message.
  HA_NOT_AVAILABLE: topicSilent,
  ILLEGAL_MESSAGE_GROUP: permanent,
  ILLEGAL_MESSAGE_ID: permanent,
  ILLEGAL_MESSAGE_KEY: permanent,
  ILLEGAL_MESSAGE_PROPERTY_KEY: permanent,
  ILLEGAL_MESSAGE_TAG: permanent,
  ILLEGAL_TOPIC: topicAway,
  // See brokerAway.
  INTERNAL_ERROR: ambiguous,
  INTERNAL_SERVER_ERROR: ambiguous,
  MASTER_PERSISTENCE_TIMEOUT: topicSilent,
  MESSAGE_BODY_EMPTY: permanent,
  MESSAGE_BODY_TOO_LARGE: permanent,
  // In transit.
  MESSAGE_CORRUPTED: { kind: 'rejected' },
  MESSAGE_PROPERTIES_TOO_LARGE: permanent,
  // The type of the topic was changed, or a starting broker has not registered it yet.
  MESSAGE_PROPERTY_CONFLICT_WITH_TYPE: topicAway,
  NOT_FOUND: topicAway,
  NOT_IMPLEMENTED: transportAway,
  PAYLOAD_TOO_LARGE: permanent,
  PAYMENT_REQUIRED: transportAway,
  PROXY_TIMEOUT: topicSilent,
  REQUEST_HEADER_FIELDS_TOO_LARGE: permanent,
  REQUEST_TIMEOUT: topicSilent,
  SLAVE_PERSISTENCE_TIMEOUT: topicSilent,
  // The broker is overloaded.
  TOO_MANY_REQUESTS: topicAway,
  TOPIC_NOT_FOUND: topicAway,
  UNAUTHORIZED: transportAway,
  UNSUPPORTED: transportAway,
  VERSION_UNSUPPORTED: transportAway,
};

/** A proxy reports an unreachable broker only as an internal error with the text of an exception. */
const brokerAway: readonly (readonly [RegExp, Meaning])[] = [
  [/RemotingConnectException/, topicAway],
  [/RemotingSendRequestException|RemotingTimeoutException/, topicSilent],
  // The broker stops, or its disk is full.
  [/service not available now|disk full|maybe disk/i, topicAway],
];

/** The outcome of a failed send. `written` is false if nothing was sent. */
export function outcomeOf(error: unknown, written: boolean): SendOutcome {
  const reason = ownReasonOf(error);
  const meaning = meaningOf(error, written);
  if (meaning.kind !== 'hold') return { kind: meaning.kind, error: reason };
  return { kind: 'hold', hold: { scope: meaning.scope, reason }, onWire: written && meaning.stored };
}

function meaningOf(error: unknown, written: boolean): Meaning {
  if (error instanceof NoAnswer) return { kind: 'hold', scope: 'transport', stored: written };
  if (!(error instanceof RefusedRequest)) return ambiguous;
  // A wrong user or secret, which has the same status, concerns all topics.
  if (lacksPrivilege(error)) return topicAway;
  const meaning = statusMeanings[error.status] ?? ambiguous;
  if (meaning !== ambiguous) return meaning;
  return brokerAway.find(([words]) => words.test(error.message))?.[1] ?? ambiguous;
}
