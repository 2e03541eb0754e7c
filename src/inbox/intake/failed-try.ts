import type { BegunTry, FailedTry } from '../../store/inbox/tries.ts';
import { errorText } from '../parked/kept.ts';
import { type RefusalReason, refusalReasonOf } from '../reading/unreadable.ts';
import { delaysOf } from '../route-delays.ts';
import { verdictOf } from '../verdict.ts';
import type { Way } from './arrived.ts';

/** A try that failed, as the database is told of it, and the delays by which it finds the time of the next one. */
export interface JudgedTry {
  readonly failed: FailedTry;
  readonly retryMs: readonly number[];
}

/**
 * @param way of the message, where it is known
 * @param ofConsumer the delays of what has none of its own
 */
export function judgeTry<Tx>(
  message: BegunTry,
  way: Way<Tx> | undefined,
  error: unknown,
  ofConsumer: readonly number[],
): JudgedTry {
  const refusal = refusalReasonOf(error);
  const verdict = verdictOf(error);
  const permanent = verdict?.kind === 'permanent';
  const retryMs = delaysOf('retryMs', way, ofConsumer);
  return {
    failed: {
      message,
      reason: permanent ? 'permanent' : (refusal ?? 'error'),
      error: errorText(error),
      final: permanent || isFinal(refusal),
    },
    // The delay after this try, if it has one: the number of tries stays what it is.
    retryMs:
      verdict?.kind === 'retry-after'
        ? retryMs.map((ms, n) => (n === message.attempts - 1 ? verdict.inMs : ms))
        : retryMs,
  };
}

/** What a newer consumer of the group may know is tried again, as long as other failures are. */
export function isFinal(refusal: RefusalReason | undefined): boolean {
  return refusal !== undefined && refusal !== 'unknown-topic' && refusal !== 'unknown-version';
}
