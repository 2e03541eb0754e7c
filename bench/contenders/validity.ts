/** What was read from a topic's log. */
export interface Appended {
  readonly id: string | null;
  readonly at: Date;
}

/**
 * When each record was appended, in ms since 1970, ascending.
 *
 * @throws Error if there are not `count` records with as many different ids: then a figure would mean nothing
 */
export function timesOfEachOnce(
  topic: string,
  records: readonly Appended[],
  count: number,
): readonly number[] {
  const ids = new Set(records.map(({ id }) => id));
  if (records.length !== count || ids.size !== count)
    throw new Error(`${topic} has ${records.length} records with ${ids.size} ids, not ${count}.`);
  return records.map(({ at }) => at.getTime()).toSorted((a, b) => a - b);
}

/**
 * How late each message is in ms, ascending.
 *
 * @param appended when each was appended, ascending
 * @throws Error if one is early
 */
export function lateness(who: string, appended: readonly number[], dueAtMs: number): readonly number[] {
  const late = appended.map((at) => at - dueAtMs);
  const first = late[0] ?? 0;
  if (first < 0) throw new Error(`${who} sent a message ${-first} ms early.`);
  return late;
}
