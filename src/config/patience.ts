import { setTimeout as delay } from 'node:timers/promises';
import { unlessStopped } from '../core/unless-stopped.ts';

/** Between attempts. */
const againMs = 500;
/** Between words about the same wait. */
const sayEveryMs = 5_000;

export interface PatienceRules<Answer> {
  /** Ends the waiting at once, whatever the attempt under way does. */
  readonly signal: AbortSignal;
  /** Milliseconds until the last failure is thrown. `Infinity`: never. */
  readonly withinMs: number;
  /** False for a failure that time does not mend: it is thrown. */
  readonly passing: (error: unknown) => boolean;
  /** Called with the first failure at once, and then every five seconds at most. */
  readonly waiting: (error: unknown) => void;
  /** Takes what comes too late: the waiting has ended. */
  readonly late?: (answer: Answer) => void;
}

/**
 * Tries until it succeeds: what starts together with its servers waits for them.
 *
 * @throws the last failure, or the reason of the signal
 */
export async function patiently<Answer>(
  attempt: () => Promise<Answer>,
  { signal, withinMs, passing, waiting, late }: PatienceRules<Answer>,
): Promise<Answer> {
  const endsAt = performance.now() + withinMs;
  let saidAt = Number.NEGATIVE_INFINITY;
  for (;;) {
    try {
      return await unlessStopped(attempt(), signal, late);
    } catch (error) {
      if (signal.aborted || !passing(error) || performance.now() + againMs >= endsAt) throw error;
      if (performance.now() - saidAt >= sayEveryMs) {
        saidAt = performance.now();
        waiting(error);
      }
    }
    await delay(againMs, undefined, { signal });
  }
}
