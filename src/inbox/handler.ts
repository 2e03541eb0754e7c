import { OutboxError } from '../core/errors.ts';
import type { InboxMessage } from './reading/inbox-message.ts';

/** What a handler is told about the transaction in which it works. */
export interface HandlerContext {
  /**
   * Fires when the transaction was given up, so that nothing it still does can count: it has taken as long as it may
   * (`transactionTimeout`, reason `OUTBOX_HANDLER_STUCK`), its partition went to another consumer, or its consumer stops and
   * the time of `stop({ within })` is over (reason `OUTBOX_HANDLER_GIVEN_UP`). Pass it to what the handler waits for, as
   * `fetch(url, { signal })`. A message that was given up for the last two reasons costs no try. Not after the end of the
   * transaction.
   */
  readonly signal: AbortSignal;
}

/**
 * Applies a message. Whatever it writes through `tx` commits together with the id of the message, or not at all; what
 * it does elsewhere may happen again after a failure.
 *
 * It must return the promise of all that it does: what nobody waits for is not part of the transaction, and a Prisma call
 * that nobody waits for never runs. One that answers anything else counts as done, and is told once, as `promise-missing`.
 *
 * To fail, reject: the transaction is rolled back and the message is tried again. Reject with `permanent(error)` where no
 * further try can help, with `retryAfter(error, delay)` to say when the next one is worth it.
 */
export type Handler<Tx, Payload> = (
  tx: Tx,
  message: InboxMessage<Payload>,
  context: HandlerContext,
) => Promise<unknown>;

/**
 * Applies many messages of one topic, in the order in which they came. What it writes through `tx` commits together with
 * their ids, or not at all. It must return a promise, as every {@link Handler}.
 *
 * To fail, reject: the transaction is rolled back, and each of the messages is tried alone.
 */
export type BatchHandler<Tx, Payload> = (
  tx: Tx,
  messages: readonly InboxMessage<Payload>[],
  context: HandlerContext,
) => Promise<unknown>;

/**
 * Calls `handler`, and `missing` at the first time that its answer is no promise: somebody forgot to return one, or to
 * await it. Whoever writes JavaScript is not told so by the compiler.
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

/** Looks without calling anything: a lazy promise begins when it is asked for its result. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
    'then' in value &&
    typeof value.then === 'function'
  );
}

/**
 * @param whose at the beginning of a sentence
 * @param then what becomes of it
 */
export function promiseMissing(
  whose: string,
  then: string,
  details: Readonly<Record<string, unknown>> = {},
): OutboxError {
  return new OutboxError('OUTBOX_PROMISE_MISSING', `${whose} has returned no promise, and ${then}.`, {
    details,
  });
}
