import { reasonOf } from '../../../core/reason.ts';
import type { Hold } from '../../transport.ts';
import { codeOf } from '../client/reason.ts';

/** What the end of a channel or connection means for the messages in flight. */
export interface RabbitmqFailure {
  readonly scope: Hold['scope'];
  /** The outcome of the message that is the cause: `hold` if none is. */
  readonly alone: 'hold' | 'permanent' | 'rejected';
  /** Whether that message may have been stored nevertheless. */
  readonly stored: boolean;
  readonly reason: string;
}

type ReplyMeaning = Omit<RabbitmqFailure, 'reason'>;

const refusedExchange: ReplyMeaning = { scope: 'topic', alone: 'hold', stored: false };
const refusedMessage: ReplyMeaning = { scope: 'topic', alone: 'permanent', stored: false };
const refusedRoutingKey: ReplyMeaning = { scope: 'topic', alone: 'rejected', stored: false };
const lost: ReplyMeaning = { scope: 'transport', alone: 'hold', stored: true };

/**
 * The meaning of each reply code with which a server closes a channel or connection.
 *
 * A server closes a channel when it reads the message that causes it, and does not store that one. Earlier messages may be
 * stored without a confirmation. A code about the connection says nothing about a message.
 */
export const replies: Readonly<Record<number, ReplyMeaning>> = {
  /** CONTENT_TOO_LARGE */
  311: refusedMessage,
  /** CONNECTION_FORCED: the server stops, or an operator closed the connection. */
  320: lost,
  /** INVALID_PATH: the virtual host. */
  402: lost,
  /** ACCESS_REFUSED */
  403: refusedExchange,
  /** NOT_FOUND */
  404: refusedExchange,
  /** RESOURCE_LOCKED */
  405: refusedExchange,
  /** PRECONDITION_FAILED: larger than max_message_size, or a property that the server cannot read. */
  406: refusedMessage,
  /** FRAME_ERROR */
  501: lost,
  /** SYNTAX_ERROR */
  502: lost,
  /** COMMAND_INVALID */
  503: lost,
  /** CHANNEL_ERROR */
  504: lost,
  /** UNEXPECTED_FRAME */
  505: lost,
  /** RESOURCE_ERROR */
  506: lost,
  /** NOT_ALLOWED: the user has no access to the virtual host. */
  530: lost,
  /** NOT_IMPLEMENTED */
  540: lost,
  /** INTERNAL_ERROR: a cluster may send it for a queue that fails. */
  541: lost,
};

/** Classifies the error that ended a channel or connection. */
export function rabbitmqFailure(error: unknown): RabbitmqFailure {
  const code = codeOf(error);
  const answer = typeof code === 'number' ? replies[code] : undefined;
  const reason = reasonOf(error);
  return { ...(namesRoutingKey(reason) ? refusedRoutingKey : (answer ?? lost)), reason };
}

/** Whether the user may write to the exchange, but not with the routing key of a message (topic permissions). */
function namesRoutingKey(reason: string): boolean {
  return reason.includes("access to topic '");
}

/** Whether the server names this routing key as the refused one. It cuts texts of more than 255 bytes off. */
export function refusesRoutingKey(reason: string, key: string): boolean {
  return reason.includes(`access to topic '${key}' in exchange`);
}

/** The server's message size limit in bytes, if the reason names it: the channel was closed because of a larger message. */
export function maxBytesIn(reason: string): number | undefined {
  const limit = /message size \d+ (?:is )?larger than (?:configured )?max(?:imum)? size (\d+)/.exec(
    reason,
  )?.[1];
  return limit === undefined ? undefined : Number(limit);
}
