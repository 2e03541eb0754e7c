import { reasonOf } from '../../core/reason.ts';
import { codeOf } from '../../rabbitmq/reason.ts';
import type { Hold } from '../transport.ts';

/** What an answer of the server, or its end, means for what was being sent. */
export interface RabbitmqFailure {
  readonly scope: Hold['scope'];
  /** What becomes of the message that alone can have caused it: `hold` where no message is to blame. */
  readonly alone: 'hold' | 'permanent';
  /** Whether that message may have been stored nevertheless. */
  readonly stored: boolean;
  readonly reason: string;
}

type Answer = Omit<RabbitmqFailure, 'reason'>;

const refusedExchange: Answer = { scope: 'topic', alone: 'hold', stored: false };
const refusedMessage: Answer = { scope: 'topic', alone: 'permanent', stored: false };
const lost: Answer = { scope: 'transport', alone: 'hold', stored: true };

/**
 * What a reply code means, by the code with which the server closed the channel or the connection.
 *
 * A channel is closed at the message to blame, before that is stored. What was sent before it may be stored without a
 * confirmation. A code about the connection says nothing of any message.
 */
export const replies: Readonly<Record<number, Answer>> = {
  /** CONTENT_TOO_LARGE */
  311: refusedMessage,
  /** CONNECTION_FORCED: the server stops, or somebody closed the connection. */
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
  /** NOT_ALLOWED: this user, in this virtual host. */
  530: lost,
  /** NOT_IMPLEMENTED */
  540: lost,
  /** INTERNAL_ERROR: a cluster may answer it for a queue that is failing. */
  541: lost,
};

/** Says what ended a channel or a connection on which messages were sent. */
export function rabbitmqFailure(error: unknown): RabbitmqFailure {
  const code = codeOf(error);
  const answer = typeof code === 'number' ? replies[code] : undefined;
  return { ...(answer ?? lost), reason: reasonOf(error) };
}

/** The most bytes that the server takes in one message, where it closed the channel because of more. */
export function maxBytesIn(reason: string): number | undefined {
  const limit = /message size \d+ (?:is )?larger than (?:configured )?max(?:imum)? size (\d+)/.exec(
    reason,
  )?.[1];
  return limit === undefined ? undefined : Number(limit);
}
