import type { Claim } from '../store/lane/claim.ts';
import type { LateProgress } from '../store/lane/lease.ts';

/** How far a lane has come. */
export interface LaneProgress {
  readonly cursor: string;
  readonly snapshot: string | null;
  readonly late?: LateProgress | undefined;
}

/** The progress alone, of what has one. */
export function progressOf({ cursor, snapshot, late }: LaneProgress): LaneProgress {
  return { cursor, snapshot, ...(late !== undefined && { late }) };
}

export function isSameProgress(a: LaneProgress, b: LaneProgress): boolean {
  return (
    a.cursor === b.cursor &&
    a.snapshot === b.snapshot &&
    a.late?.cursor === b.late?.cursor &&
    a.late?.snapshot === b.late?.snapshot
  );
}

/**
 * How far a lane is when it has passed the batch of a claim; `undefined` if it stays where it is.
 *
 * A claim returns the first rows, by position, of what the lane has not passed. If they are all that it has, or reach beyond the cursor, the
 * cursor moves, and the snapshot of the claim belongs to it. If they end at or below it, late rows are left, and the late cursor moves. It
 * cannot move back: what its snapshot shows up to there is passed. So while more than a batch of rows have become visible below it, the
 * lane stays where it is, and what it sends is marked on the rows.
 */
export function progressPast(
  { messages, truncated, snapshot }: Claim,
  at: LaneProgress,
): LaneProgress | undefined {
  const last = messages.at(-1)?.position;
  if (last === undefined && at.late === undefined) return undefined;
  if (last === undefined || !truncated || BigInt(last) > BigInt(at.cursor))
    return { cursor: greater(at.cursor, last ?? at.cursor), snapshot };
  if (at.late !== undefined && BigInt(last) < BigInt(at.late.cursor)) return undefined;
  return { ...progressOf(at), late: { cursor: last, snapshot } };
}

function greater(a: string, b: string): string {
  return BigInt(a) >= BigInt(b) ? a : b;
}
