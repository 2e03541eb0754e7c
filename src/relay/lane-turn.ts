import type { DrainInput } from './drain-input.ts';
import type { LaneLease } from './lane-lease.ts';
import type { LaneProgress } from './lane-progress.ts';

/** One turn of a lane, from its acquisition on: what its parts share. */
export interface LaneTurn {
  readonly input: DrainInput;
  readonly lease: LaneLease;
  /** When the turn ends although there is more, as `performance.now()` has it. */
  readonly deadline: number;
  /** Fires when the turn must end: at a stop, and when the lane is lost. */
  readonly stop: AbortSignal;
  at: LaneProgress;
  /** Keys may be free again: blocked messages are released before the next claim. */
  freed: boolean;
}
