import type { Hold } from '../brokers/transport.ts';
import { rest } from '../core/rest.ts';
import { writeHold } from '../store/lane/lease.ts';
import { isPaused } from '../store/lane/topics.ts';
import { answeredInTime } from './answered-in-time.ts';
import type { DrainInput } from './drain-input.ts';
import type { LaneLease } from './lane-lease.ts';

interface HoldLimits {
  /** Before the first probe; 0 for a hold that may already be over. */
  readonly firstProbeMs: number;
  readonly deadline: number;
  readonly stop: AbortSignal;
}

/**
 * Keeps the lane and probes its address until the address answers, the topic is paused, the run is over, or the drain must
 * stop. No attempt is spent, and the lane's row says why it waits.
 */
export async function sitOutHold(
  { database, lane, route, timings, report, progress }: DrainInput,
  lease: LaneLease,
  hold: Hold,
  { firstProbeMs, deadline, stop }: HoldLimits,
): Promise<void> {
  const beganAt = performance.now();
  await writeHold(database, lane, lease.owner, { ...hold, since: new Date() });
  report({ type: 'hold-began', hold, ...lane });
  try {
    if (await isOver()) await writeHold(database, lane, lease.owner, undefined);
  } finally {
    // The next owner of the lane reports its own hold, if there is one.
    report({ type: 'hold-ended', lastedMs: performance.now() - beganAt, ...lane });
  }

  /** Waits for it. @returns false if the drain must end before */
  async function isOver(): Promise<boolean> {
    for (let waitMs = firstProbeMs; !stop.aborted && performance.now() < deadline; ) {
      await rest(waitMs, stop);
      progress();
      await lease.renewIfOld();
      if (stop.aborted) break;
      // A pause is complete only when the lane is free, even while its broker is unreachable.
      if ((await isPaused(database, lane.topic)) || (await reachable())) return true;
      waitMs = timings.probeIntervalMs;
    }
    return false;
  }

  async function reachable(): Promise<boolean> {
    const transport = route.transport.name;
    const limits = { what: 'a probe', transport, lane, report, stop, withinMs: timings.stuckAfterMs };
    return lease.during(() =>
      answeredInTime(limits, () =>
        route.transport.probe(route.rules.address).then(
          () => true,
          () => false,
        ),
      ),
    );
  }
}
