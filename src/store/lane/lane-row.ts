import type { Lane } from '../../core/lane.ts';

/**
 * Where a lane's row was written last (its `ctid`), by the lane object of its owner. A hint: every write to the row moves it.
 *
 * Every settle leaves a version of the row behind, and while somebody's snapshot is old nothing removes them. By its key the
 * row is found behind all of them: after ten minutes of 200 batches a second that takes longer than claim and settle together.
 */
const places = new WeakMap<Lane, string>();

/** Where the row was last seen; null: not known. */
export function placeOf(lane: Lane): string | null {
  return places.get(lane) ?? null;
}

/** Condition of the row `l` of a lane while it is its owner's, with topic, number, owner and place as the first four values. */
type Condition = string;
const owned = 'l.topic = $1 and l.n = $2 and outbox.lane_owned(l, $3)';
const atPlace: Condition = `${owned} and l.ctid = $4::tid`;
const byKey: Condition = `${owned} and $4::tid is null`;

/**
 * Runs a statement that writes the lane's row for its owner and returns its new place: where the row was last seen, and by
 * its key when it is there no more.
 *
 * @returns `false` when the lane belongs to somebody else: nothing is written
 */
export async function writeOwnRow(
  lane: Lane,
  owner: string,
  write: (where: Condition, values: readonly unknown[]) => Promise<readonly { readonly place: string }[]>,
): Promise<boolean> {
  const place = placeOf(lane);
  const there = place === null ? [] : await write(atPlace, [lane.topic, lane.lane, owner, place]);
  const [row] = there.length > 0 ? there : await write(byKey, [lane.topic, lane.lane, owner, null]);
  if (row !== undefined) places.set(lane, row.place);
  return row !== undefined;
}
