import { setTimeout as delay } from 'node:timers/promises';

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

/** @throws the reason of the signal, also while the promise is open; what that answers later goes to `late` */
export async function unlessStopped<Answer>(
  promise: Promise<Answer>,
  signal: AbortSignal,
  late?: (answer: Answer) => void,
): Promise<Answer> {
  const over = new AbortController();
  const stopped = new Promise<never>((_resolve, reject) => {
    const stop = (): void => {
      if (late !== undefined) void promise.then(late).catch(() => undefined);
      // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- the reason of an abort is what it is
      reject(signal.reason);
    };
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true, signal: over.signal });
  });
  try {
    return await Promise.race([stopped, promise]);
  } finally {
    over.abort();
  }
}
