import { OutboxError } from './errors.ts';
import { rest } from './rest.ts';
import { startTimer } from './timer.ts';
import { unlessStopped } from './unless-stopped.ts';

/** Between attempts. */
const againMs = 500;
/** Between reports of the same wait. */
const sayEveryMs = 5_000;
/** An attempt without an answer is reported after this time, too: a client may wait for half a minute. */
const silentMs = 2_000;

export interface PatienceRules<Answer> {
  /** Ends the wait at once, without waiting for the current attempt. */
  readonly signal: AbortSignal;
  /** Milliseconds after which the last failure is thrown. `Infinity`: never. */
  readonly withinMs: number;
  /** False for a failure that does not pass by itself: it is thrown. */
  readonly passing: (error: unknown) => boolean;
  /** Called with the first failure, or after two seconds without an answer, then at most every five seconds. */
  readonly waiting: (error: unknown) => void;
  /** Called with an answer that arrives after the wait has ended. */
  readonly late?: (answer: Answer) => void;
}

/**
 * Retries until it succeeds, for a process that starts together with its servers.
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
    const unanswered = startTimer(() => say(silence()), silentMs);
    try {
      return await unlessStopped(attempt(), signal, late);
    } catch (error) {
      if (signal.aborted || !passing(error) || performance.now() + againMs >= endsAt) throw error;
      say(error);
    } finally {
      clearTimeout(unanswered);
    }
    await rest(againMs, signal);
    signal.throwIfAborted();
  }
}

function silence(): OutboxError {
  return new OutboxError('OUTBOX_SERVER_UNAVAILABLE', `No answer for ${silentMs / 1_000} s.`);
}
