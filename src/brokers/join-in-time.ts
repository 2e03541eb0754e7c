import { OutboxError } from '../core/errors.ts';
import { reasonOf } from '../core/reason.ts';
import { rest } from '../core/rest.ts';
import type { Subscription } from './source.ts';

/** What joins a group until it is stopped. */
export interface Joining {
  readonly reconnecting: {
    /** Resolves at the first join; never rejects. */
    readonly joined: Promise<unknown>;
    /** Why the last try failed; `undefined`: no server has answered. */
    readonly lastError: unknown;
  };
  stop(): Promise<void>;
}

/**
 * Waits for the first join as long as the subscription allows. Without one it stops what joins.
 *
 * @param endpoint of the server, for the error
 * @throws OutboxError that of the last try, or `OUTBOX_SERVER_UNAVAILABLE`, if there was none in time
 * @throws the reason of the subscription's signal, without waiting for the stop
 */
export async function joinInTime(
  joining: Joining,
  subscription: Subscription,
  endpoint: () => string,
): Promise<void> {
  const { joinWithinMs, signal = new AbortController().signal } = subscription;
  const over = new AbortController();
  const waited = rest(joinWithinMs, AbortSignal.any([signal, over.signal])).then(() => false);
  const joined = await Promise.race([joining.reconnecting.joined.then(() => true), waited]);
  over.abort();
  if (joined) return;
  const stopped = joining.stop();
  signal.throwIfAborted();
  await stopped;
  throw notJoined(subscription, endpoint, joining.reconnecting.lastError);
}

function notJoined({ addresses, group }: Subscription, endpoint: () => string, cause: unknown): OutboxError {
  if (cause instanceof OutboxError && cause.code !== 'OUTBOX_SERVER_UNAVAILABLE') return cause;
  const reason = cause === undefined ? 'no answer' : reasonOf(cause).replace(/\.$/, '');
  return new OutboxError(
    'OUTBOX_SERVER_UNAVAILABLE',
    `The group "${group}" could not be joined at ${endpoint()}: ${reason}.`,
    { cause, details: { group, addresses } },
  );
}
