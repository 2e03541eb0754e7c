import { OutboxError } from '../core/errors.ts';
import { type Lane, laneName } from '../core/lane.ts';
import { startTimer } from '../core/timer.ts';
import type { RelayReport } from './report.ts';

export interface CallLimits {
  /** What the transport does, for example `a batch`. */
  readonly what: string;
  /** Name of the transport. */
  readonly transport: string;
  readonly lane: Lane;
  /** Fires when the caller wants it to stop. */
  readonly stop: AbortSignal;
  /** After this time it is asked to stop; if it has not answered so long after it was asked, it is given up. */
  readonly withinMs: number;
  readonly report: RelayReport;
}

/**
 * Waits for a call of a transport, which should answer soon after its signal fires.
 *
 * A call that never answers would keep its lane forever, because the lease is renewed as long as it runs. After the error its
 * caller must let go of the lane; what the call still does then is like the work of a relay that was frozen while sending.
 *
 * @param call gets the signal that asks it to stop
 * @throws OutboxError `OUTBOX_TRANSPORT_STUCK`, which is also reported, when it is given up; and whatever `call` throws
 */
export async function answeredInTime<Result>(
  limits: CallLimits,
  call: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const { stop, withinMs } = limits;
  // No `AbortSignal.any`: every batch would add one to a signal that lives as long as the lane.
  const asked = new AbortController();
  let giveUp: (error: OutboxError) => void = () => undefined;
  const givenUp = new Promise<never>((_, reject) => {
    giveUp = reject;
  });
  const ask = (): void => {
    clearTimeout(timer);
    timer = startTimer(() => giveUp(stuck(limits)), withinMs);
    asked.abort(stop.reason);
  };
  let timer = startTimer(ask, withinMs);
  stop.addEventListener('abort', ask, { once: true });
  if (stop.aborted) ask();
  try {
    return await Promise.race([call(asked.signal), givenUp]);
  } finally {
    clearTimeout(timer);
    stop.removeEventListener('abort', ask);
  }
}

function stuck({ what, transport, lane, withinMs, report }: CallLimits): OutboxError {
  const error = new OutboxError(
    'OUTBOX_TRANSPORT_STUCK',
    `The transport "${transport}" has not settled ${what} of the lane ${laneName(lane)} within ${withinMs / 1_000} s after it was asked to stop. The lane is given up.`,
    { details: { transport, topic: lane.topic, lane: lane.lane } },
  );
  report({ type: 'error', during: 'publish', error });
  return error;
}
