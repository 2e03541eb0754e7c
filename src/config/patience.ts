import { setTimeout as delay } from 'node:timers/promises';
import { OutboxError } from '../core/errors.ts';
import { unlessStopped } from '../core/unless-stopped.ts';

/** Between attempts. */
const againMs = 500;
/** Between words about the same wait. */
const sayEveryMs = 5_000;
/** An attempt that is not answered for so long is told, too: a client may wait for half a minute. */
const silentMs = 2_000;

export interface PatienceRules<Answer> {
  /** Ends the waiting at once, whatever the attempt under way does. */
  readonly signal: AbortSignal;
  /** Milliseconds until the last failure is thrown. `Infinity`: never. */
  readonly withinMs: number;
  /** False for a failure that time does not mend: it is thrown. */
  readonly passing: (error: unknown) => boolean;
  /** Called with the first failure, or after two seconds without an answer, and then every five seconds at most. */
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
  const say = (error: unknown): void => {
    if (performance.now() - saidAt < sayEveryMs) return;
    saidAt = performance.now();
    waiting(error);
  };
  for (;;) {
    const unanswered = setTimeout(() => say(silence()), silentMs);
    try {
      return await unlessStopped(attempt(), signal, late);
    } catch (error) {
      if (signal.aborted || !passing(error) || performance.now() + againMs >= endsAt) throw error;
      say(error);
    } finally {
      clearTimeout(unanswered);
    }
    await delay(againMs, undefined, { signal });
  }
}

function silence(): OutboxError {
  return new OutboxError('OUTBOX_SERVER_UNAVAILABLE', `No answer for ${silentMs / 1_000} s.`);
}
