import type { Hold } from '../brokers/transport.ts';
import { rest } from '../core/rest.ts';
import { isPaused } from '../store/lane/topics.ts';
import { answeredInTime } from './answered-in-time.ts';
import type { DrainInput } from './drain-input.ts';
import type { LaneLease } from './lane-lease.ts';
import type { OwnHold } from './own-hold.ts';

interface HoldLimits {
  readonly own: OwnHold;
  /** Before the first probe; 0 for a hold that may already be over. */
  readonly firstProbeMs: number;
  readonly deadline: number;
  readonly stop: AbortSignal;
}

/**
 * Keeps the lane and probes its address until the address answers, the topic is paused, the run is over, or the drain must
 * stop. No attempt is spent, and the lane's row says why it waits, until the address answers: also to the next owner.
 */
export async function sitOutHold(
  { database, lane, route, timings, report, progress }: DrainInput,
  lease: LaneLease,
  hold: Hold,
  { own, firstProbeMs, deadline, stop }: HoldLimits,
): Promise<void> {
  // A batch that was cut off by a stop says nothing about its address.
  if (stop.aborted) return;
  await own.begin(hold);
  if (await isReachable()) await own.end();

  /** Waits for it. @returns false if something else ends the wait */
  async function isReachable(): Promise<boolean> {
    for (let waitMs = firstProbeMs; !stop.aborted && performance.now() < deadline; ) {
      await rest(waitMs, stop);
      progress();
      await lease.renewIfOld();
      if (stop.aborted) break;
      // A pause is complete only when the lane is free, even while its broker is unreachable.
      if (await isPaused(database, lane.topic)) return false;
      if (await reachable()) return true;
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
