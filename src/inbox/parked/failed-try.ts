import type { BegunTry, FailedTry } from '../../store/inbox/tries.ts';
import type { RouteOrRefusal } from '../handling/arrived.ts';
import { errorText } from '../handling/kept.ts';
import { type RefusalReason, refusalReasonOf } from '../reading/unreadable.ts';
import { delaysOf } from '../route-delays.ts';
import { verdictOf } from '../verdict.ts';

/** A failed try as it is stored, with the delays from which the database computes the next try. */
export interface JudgedTry {
  readonly failed: FailedTry;
  readonly retryMs: readonly number[];
}

/**
 * @param route the message's route, if known
 * @param ofConsumer the delays for messages without their own
 */
export function judgeTry<Tx>(
  message: BegunTry,
  route: RouteOrRefusal<Tx> | undefined,
  error: unknown,
  ofConsumer: readonly number[],
): JudgedTry {
  const refusal = refusalReasonOf(error);
  const verdict = verdictOf(error);
  const permanent = verdict?.kind === 'permanent';
  const retryMs = delaysOf('retryMs', route, ofConsumer);
  return {
    failed: {
      message,
      reason: permanent ? 'permanent' : (refusal ?? 'error'),
      error: errorText(error),
      final: permanent || isFinal(refusal),
    },
    // Replaces the delay after this try, if there is one; the number of tries does not change.
    retryMs:
      verdict?.kind === 'retry-after'
        ? retryMs.map((ms, n) => (n === message.attempts - 1 ? verdict.inMs : ms))
        : retryMs,
  };
}

/** Unknown topics and versions are retried like other failures: a newer consumer of the group may know them. */
export function isFinal(refusal: RefusalReason | undefined): boolean {
  return refusal !== undefined && refusal !== 'unknown-topic' && refusal !== 'unknown-version';
}
