import { OutboxError } from '../../core/errors.ts';
import { shared } from '../../core/shared.ts';
import type { Position } from '../consumer-event.ts';

/**
 * Why a message cannot be given to a handler. No retry helps until a person or a deployment changes something.
 *
 * `no-id`: it has no valid id · `unknown-topic`: it names no topic, or one that is not configured · `unknown-version`: no
 * upcaster leads from its version to the current one, or it is newer · `unreadable`: its body is not JSON in UTF-8 ·
 * `invalid`: the schema or an upcaster rejects its payload
 */
export type RefusalReason = 'invalid' | 'no-id' | 'unknown-topic' | 'unknown-version' | 'unreadable';

/** Long enough for ten issues of a schema, and short enough for a log and a table. */
const longestText = 2_000;

/** Not a property of the error, because a handler may throw an error that looks like one of these. */
const reasons = shared('refusal-reasons', () => new WeakMap<object, RefusalReason>());

/**
 * The error of a message that cannot be given to a handler.
 *
 * @param why must not quote the body; control characters that it quotes from headers are replaced
 */
export function unreadable(
  { address, partition, offset }: Position,
  reason: RefusalReason,
  why: string,
  cause?: unknown,
): OutboxError {
  const error = new OutboxError(
    'OUTBOX_MESSAGE_UNREADABLE',
    `The message at ${address}/${partition}, offset ${offset}, cannot be read: ${plain(why)}.`,
    { cause, details: { address, partition, offset, reason } },
  );
  reasons.set(error, reason);
  return error;
}

/** Why the message was refused, or `undefined` for every other error: that of a handler, or of a server. */
export function refusalReasonOf(error: unknown): RefusalReason | undefined {
  return error instanceof OutboxError ? reasons.get(error) : undefined;
}

/** PostgreSQL rejects NUL, and control sequences of a message must not reach a terminal. */
function plain(text: string): string {
  const short = text.length > longestText ? `${text.slice(0, longestText)}…` : text;
  return short.replaceAll(/[\p{Cc}\p{Surrogate}]/gu, '\u{fffd}');
}
