import type { GroupNote, LookTimes, Standing } from '../store/installation/standing-groups.ts';

/** What a look has seen of a group at a topic. */
export interface SeenGroup {
  /** By partition, the first offset that it has not committed. */
  readonly committed: ReadonlyMap<number, string>;
  /** By partition, the offset of the next message. */
  readonly ends: ReadonlyMap<number, string>;
  /** It has to read every partition, also one where it has committed nothing. */
  readonly everywhere: boolean;
}

/**
 * Compares where a group stands with where it stood. A broker may take long to answer, so what is new counts from the end of
 * its look, and what is old up to the beginning of this one: a group that moves never stands for longer than between two looks.
 */
export function standingPlaces(
  before: GroupNote,
  seen: SeenGroup,
  { beganMs, endedMs }: LookTimes,
): GroupNote {
  const places: Record<string, Standing> = {};
  for (const partition of waitingIn(seen)) {
    const at = seen.committed.get(partition) ?? null;
    const known = before.places[partition];
    // A time in the future was written before the clock was set back.
    const sinceMs = known?.at === at ? Math.min(known.sinceMs, endedMs) : endedMs;
    places[partition] = { at, sinceMs, standsMs: Math.max(0, beganMs - sinceMs) };
  }
  return { places };
}

/** The partitions in which messages wait for the group, ascending. */
function waitingIn({ committed, ends, everywhere }: SeenGroup): readonly number[] {
  const waiting = [...ends].filter(([partition, end]) => {
    const at = committed.get(partition);
    return at === undefined ? everywhere : BigInt(at) < BigInt(end);
  });
  return waiting.map(([partition]) => partition).toSorted((a, b) => a - b);
}
