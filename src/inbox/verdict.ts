import { type Duration, durationMs, longestDurationMs } from '../core/duration.ts';
import { OutboxError } from '../core/errors.ts';

/** What a handler says about its own failure. */
export type Verdict =
  /** No further try can help. */
  | { readonly kind: 'permanent' }
  /** The next try is due after so long. */
  | { readonly kind: 'retry-after'; readonly inMs: number };

/** An error with a verdict. It has the message of the error that it was made of, which is its cause. */
class JudgedError extends Error {
  readonly verdict: Verdict;

  constructor(name: string, verdict: Verdict, error: unknown) {
    super(error instanceof Error ? error.message : String(error), { cause: error });
    this.name = name;
    this.verdict = verdict;
  }
}

/**
 * Makes an error that says: no further try of this message can help. To be thrown by a handler or a middleware.
 *
 * The transaction is rolled back, and the message is failed at once, with the reason `permanent`: without quick retries,
 * without being parked, whatever tries are left. It is kept for a person, who can retry, edit or discard it; what it does to
 * its key says `exhausted`. In a transaction of several messages each is tried alone first. The breaker does not count it.
 *
 * @param error what happened; its text is what a person reads
 * @returns an error with the same message, whose `cause` is `error`
 * @example throw permanent(new Error(`There is no order ${orderId}.`));
 */
export function permanent(error: unknown): Error {
  return new JudgedError('PermanentError', { kind: 'permanent' }, error);
}

/**
 * Makes an error that says when this message is worth the next try. To be thrown by a handler or a middleware.
 *
 * The transaction is rolled back, and the message is parked without quick retries, or stays parked, for `delay` instead of
 * the next delay of `retry`. It counts as a try, so the length of `retry` still bounds how many there are: a message whose
 * tries are used up is failed. Those of its key wait behind it, others go on. The breaker does not count it. Tried earlier
 * is what a person retries, and what is behind an earlier message of its key then.
 *
 * @param error what happened; its text is what a person reads
 * @param delay 0 to 36,500 days
 * @returns an error with the same message, whose `cause` is `error`
 * @throws OutboxError `OUTBOX_OPTION_INVALID` for another delay, with `error` as its cause: the message fails by that instead
 * @example throw retryAfter(new Error('The bank asks for patience.'), '5m');
 */
export function retryAfter(error: unknown, delay: Duration): Error {
  const inMs = durationMs(delay);
  if (inMs === undefined || inMs < 0 || inMs > longestDurationMs) {
    throw new OutboxError(
      'OUTBOX_OPTION_INVALID',
      'The delay of retryAfter is not a duration from 0 to 36,500 days.',
      { details: { option: 'delay' }, cause: error },
    );
  }
  return new JudgedError('RetryAfterError', { kind: 'retry-after', inMs }, error);
}

/** The verdict of who threw it; `undefined`: the rules of the consumer decide. */
export function verdictOf(error: unknown): Verdict | undefined {
  return error instanceof JudgedError ? error.verdict : undefined;
}

/** What happened, whatever was said about it. */
export function withoutVerdict(error: unknown): unknown {
  return error instanceof JudgedError ? withoutVerdict(error.cause) : error;
}
