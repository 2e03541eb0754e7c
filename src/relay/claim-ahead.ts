import type { Claim } from '../store/lane/claim.ts';
import type { Settlement } from '../store/lane/settle.ts';
import { isSameProgress, type LaneProgress } from './lane-progress.ts';

/** A claim, and when it began. */
export interface TimedClaim {
  readonly claimed: Claim;
  readonly claimedAt: number;
}

/**
 * The claim of the next batch, made before the batch in front of it is settled: while that is on the wire, so that neither
 * database nor broker waits for the other, or when it is acknowledged, so that the claim does not wait for a disk.
 *
 * It reads what a claim after the settle would read, because it begins where that settle ends if the lane passes the batch. It
 * is used only after exactly that settle: one that writes an exception may block keys of the next batch. Otherwise it is
 * dropped; it has written nothing.
 */
export interface ClaimAhead {
  readonly claimedAt: number;
  /** Where it begins. */
  readonly from: LaneProgress;
  /** Made while the batch in front was on the wire: dropped as well if the topic is paused when that is settled. */
  readonly onWire: boolean;
  /** `undefined` if it failed: the next claim will show why. */
  readonly claimed: Promise<Claim | undefined>;
}

/** True if everything of a batch was published. */
export function allPublished(settled: Settlement | undefined): settled is Settlement {
  return settled?.changes.every(({ to }) => to === 'published') === true;
}

/** True if the lane passed its batch without exceptions, and is where the claim begins. */
export function mayFollow({ from }: ClaimAhead, settled: Settlement | undefined): boolean {
  return allPublished(settled) && isSameProgress(settled, from);
}
