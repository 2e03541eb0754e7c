import { OutboxError } from '../core/errors.ts';
import { reasonOf } from '../core/reason.ts';
import { rest } from '../core/rest.ts';
import type { Subscription } from './source.ts';

/** What joins a group until it is stopped. */
export interface Joining {
  /** Resolves at the first join; never rejects. */
  readonly joined: Promise<unknown>;
  stop(): Promise<void>;
}

/**
 * Waits for the first join as long as the subscription allows. Without one it stops what joins.
 *
 * @returns false if there was none in time
 * @throws the reason of the subscription's signal, without waiting for the stop
 */
export async function joinInTime(
  joining: Joining,
  { joinWithinMs, signal = new AbortController().signal }: Subscription,
): Promise<boolean> {
  const over = new AbortController();
  const waited = rest(joinWithinMs, AbortSignal.any([signal, over.signal])).then(() => false);
  const joined = await Promise.race([joining.joined.then(() => true), waited]);
  over.abort();
  if (joined) return true;
  const stopped = joining.stop();
  signal.throwIfAborted();
  await stopped;
  return false;
}

/** The error of a join that took too long. @param cause why the last try failed; `undefined`: no server has answered */
export function notJoined({ addresses, group }: Subscription, endpoint: string, cause: unknown): OutboxError {
  if (cause instanceof OutboxError && cause.code === 'OUTBOX_ADDRESS_MISSING') return cause;
  const reason = cause === undefined ? 'no answer' : reasonOf(cause).replace(/\.$/, '');
  return new OutboxError(
    'OUTBOX_SERVER_UNAVAILABLE',
    `The group "${group}" could not be joined at ${endpoint}: ${reason}.`,
    { cause, details: { group, addresses } },
  );
}
