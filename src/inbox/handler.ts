import { OutboxError } from '../core/errors.ts';
import type { InboxMessage } from './reading/inbox-message.ts';

/** What a handler knows about the transaction in which it works. */
export interface HandlerContext {
  /**
   * Fires when the transaction was given up and can no longer commit: it took longer than `transactionTimeout` (reason
   * `OUTBOX_HANDLER_STUCK`), its partition went to another consumer, or its consumer stops and the time of
   * `stop({ timeout })` is over (reason `OUTBOX_HANDLER_GIVEN_UP`). Pass it to what the handler waits for, as
   * `fetch(url, { signal })`. The last two reasons cost the message no try. Does not fire after the end of the transaction.
   */
  readonly signal: AbortSignal;
}

/**
 * Applies a message. Whatever it writes through `tx` commits together with the id of the message, or not at all; effects
 * elsewhere may happen again after a failure.
 *
 * It must return a promise that covers everything it does: what is not awaited is not part of the transaction, and a
 * Prisma call that is not awaited never runs. A handler that returns anything else counts as done and is reported once, as
 * `promise-missing`.
 *
 * To fail, reject: the transaction is rolled back and the message is tried again. Reject with `permanent(error)` if
 * retrying cannot help, with `retryAfter(error, delay)` to set the delay until the next try.
 */
export type Handler<Tx, Payload> = (
  tx: Tx,
  message: InboxMessage<Payload>,
  context: HandlerContext,
) => Promise<unknown>;

/**
 * Applies many messages of one topic, in the order of their arrival. What it writes through `tx` commits together with
 * their ids, or not at all. It must return a promise, like every {@link Handler}.
 *
 * To fail, reject: the transaction is rolled back, and each of the messages is tried alone.
 */
export type BatchHandler<Tx, Payload> = (
  tx: Tx,
  messages: readonly InboxMessage<Payload>[],
  context: HandlerContext,
) => Promise<unknown>;

/**
 * Calls `handler`, and `missing` the first time that it does not return a promise: a `return` or an `async` was forgotten.
 * In JavaScript no compiler finds that.
 */
export function watched<Arguments extends readonly unknown[]>(
  handler: (...given: Arguments) => unknown,
  missing: () => void,
): (...given: Arguments) => unknown {
  let told = false;
  return (...given) => {
    const answer = handler(...given);
    if (!told && !isThenable(answer)) {
      told = true;
      missing();
    }
    return answer;
  };
}

/** Does not call `then`: a lazy promise, such as Prisma's, begins its work when `then` is called. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
    'then' in value &&
    typeof value.then === 'function'
  );
}

/**
 * @param whose the subject of the sentence
 * @param then the consequence
 */
export function promiseMissing(
  whose: string,
  then: string,
  details: Readonly<Record<string, unknown>> = {},
): OutboxError {
  return new OutboxError('OUTBOX_PROMISE_MISSING', `${whose} did not return a promise, and ${then}.`, {
    details,
  });
}
