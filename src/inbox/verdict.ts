import { type Duration, durationMs, longestDurationMs } from '../core/duration.ts';
import { OutboxError } from '../core/errors.ts';
import { ownReasonOf } from '../core/reason.ts';
import { brand } from '../core/shared.ts';

/** A handler's decision about its own failure. */
export type Verdict =
  /** Retrying cannot help. */
  | { readonly kind: 'permanent' }
  /** When the next try is due. */
  | { readonly kind: 'retry-after'; readonly inMs: number };

/** Handlers may take `permanent` of another copy of the package. */
const verdicts = brand<Verdict>('verdict');

/** An error with a verdict. It wraps the original error as its cause and repeats its message. */
class JudgedError extends Error {
  constructor(name: string, verdict: Verdict, error: unknown) {
    super(ownReasonOf(error), { cause: error });
    this.name = name;
    verdicts.put(this, verdict);
  }
}

/**
 * Marks an error as permanent: retrying the message cannot help. To be thrown by a handler or a middleware.
 *
 * The transaction is rolled back, and the message is failed at once, with the reason `permanent`: it is neither retried
 * nor parked, even if tries are left. It is kept for a person, who can retry, edit or discard it; `exhausted` decides what
 * happens to the later messages of its key. In a transaction of several messages each is tried alone first. The breaker
 * does not count the failure.
 *
 * @param error what happened; its text is shown to operators
 * @returns an error with the same message, whose `cause` is `error`
 * @example throw permanent(new Error(`There is no order ${orderId}.`));
 */
export function permanent(error: unknown): Error {
  return new JudgedError('PermanentError', { kind: 'permanent' }, error);
}

/**
 * Marks an error with the delay until the next try of the message. To be thrown by a handler or a middleware.
 *
 * The transaction is rolled back, and the message is parked without quick retries, or stays parked, for `delay` instead of
 * the next delay of `retry`. It counts as a try, so the length of `retry` still limits their number: a message without a
 * try left is failed. Later messages of its key wait behind it, other keys go on. The breaker does not count the failure.
 * A message is tried before its delay is over when an operator retries it, or retries an earlier message of its key.
 *
 * @param error what happened; its text is shown to operators
 * @param delay 0 to 36,500 days
 * @returns an error with the same message, whose `cause` is `error`
 * @throws OutboxError `OUTBOX_OPTION_INVALID` for any other delay, with `error` as its cause; the try then fails with that
 * @example throw retryAfter(new Error('The bank is rate limiting us.'), '5m');
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

/** The verdict that the error carries; `undefined`: the rules of the consumer decide. */
export function verdictOf(error: unknown): Verdict | undefined {
  return verdicts.of(error);
}

/** The original error, if this one only adds a verdict. */
export function withoutVerdict(error: unknown): unknown {
  return verdicts.of(error) !== undefined && error instanceof Error ? withoutVerdict(error.cause) : error;
}
