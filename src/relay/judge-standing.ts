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

/** What to note, and what to report. */
export interface Judged extends GroupNote {
  /** Set if its stall has to be reported now. */
  readonly stalled: { readonly sinceMs: number; readonly partitions: readonly number[] } | undefined;
}

/**
 * Compares where a group stands with where it stood. A broker may take long to answer, so what is new counts from the end of
 * its look, and what is old up to the beginning of this one: a group that moves is never called stalled.
 */
export function judgeStanding(
  before: GroupNote,
  seen: SeenGroup,
  { beganMs, endedMs }: LookTimes,
  afterMs: number,
): Judged {
  const places: Record<string, Standing> = {};
  const standing: number[] = [];
  for (const partition of waitingIn(seen)) {
    const at = seen.committed.get(partition) ?? null;
    const known = before.places[partition];
    // A time in the future was written before the clock was set back.
    const place =
      known?.at === at
        ? { ...known, sinceMs: Math.min(known.sinceMs, endedMs) }
        : { at, sinceMs: endedMs, told: false };
    places[partition] = place;
    if (beganMs - place.sinceMs >= afterMs) standing.push(partition);
  }
  const stands = standing.map((partition) => places[partition]).filter((place) => place !== undefined);
  const isNew = stands.length > 0 && !stands.some(({ told }) => told);
  const sinceMs = Math.min(...stands.map((place) => place.sinceMs));
  // What joins a stall that was reported belongs to it.
  for (const partition of standing) {
    const place = places[partition];
    if (place !== undefined) places[partition] = { ...place, told: true };
  }
  return { places, stalled: isNew ? { sinceMs, partitions: standing } : undefined };
}

/** The partitions in which messages wait for the group, ascending. */
function waitingIn({ committed, ends, everywhere }: SeenGroup): readonly number[] {
  const waiting = [...ends].filter(([partition, end]) => {
    const at = committed.get(partition);
    return at === undefined ? everywhere : BigInt(at) < BigInt(end);
  });
  return waiting.map(([partition]) => partition).toSorted((a, b) => a - b);
}
