import type { Lane } from '../../core/lane.ts';

/**
 * The `ctid` of a lane's row after its last write, by the lane object of its owner. A hint: every write to the row changes it.
 *
 * Every settle leaves a dead version of the row, and while an old snapshot exists none of them is removed. A lookup by key
 * passes all of them: after ten minutes of 200 batches a second that takes longer than claim and settle together.
 */
const ctids = new WeakMap<Lane, string>();

/** The last known `ctid` of the row; `null`: unknown. */
export function ctidOf(lane: Lane): string | null {
  return ctids.get(lane) ?? null;
}

/** Notes the `ctid` that a write has given the row; nothing if it wrote nothing. @returns whether it wrote */
export function noteCtid(lane: Lane, ctid: string | null | undefined): boolean {
  if (typeof ctid === 'string') ctids.set(lane, ctid);
  return typeof ctid === 'string';
}

/** A condition for the row `l` of a lane that the caller owns, with topic, number, owner and ctid as the first four values. */
type Condition = string;
const owned = 'l.topic = $1 and l.n = $2 and outbox.lane_owned(l, $3)';
const atCtid: Condition = `${owned} and l.ctid = $4::tid`;
const byKey: Condition = `${owned} and $4::tid is null`;

/**
 * Runs a statement that writes the lane's row for its owner and returns the new `ctid`: first by the last known `ctid`, then
 * by key if the row is no longer found.
 *
 * @returns `false` if the lane has another owner: nothing is written
 */
export async function writeOwnRow(
  lane: Lane,
  owner: string,
  write: (where: Condition, values: readonly unknown[]) => Promise<readonly { readonly ctid: string }[]>,
): Promise<boolean> {
  const ctid = ctidOf(lane);
  const found = ctid === null ? [] : await write(atCtid, [lane.topic, lane.lane, owner, ctid]);
  const [row] = found.length > 0 ? found : await write(byKey, [lane.topic, lane.lane, owner, null]);
  return noteCtid(lane, row?.ctid);
}
