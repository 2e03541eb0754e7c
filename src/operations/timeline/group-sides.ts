import { causeIn } from '../../core/cause.ts';
import { late, orLate } from '../../core/or-late.ts';
import { reasonOf } from '../../core/reason.ts';
import type { Sql } from '../../store/database/database.ts';
import { readTraces } from '../../store/inbox/traces.ts';
import { type GroupSide, hasTrace } from './group-entries.ts';

/** A consumer group whose inbox is in another database. */
export interface OtherGroup {
  readonly group: string;
  /** Reads its database. Rejects if that does not answer; may take longer than anybody waits. */
  readonly read: <Result>(work: (sql: Sql, address: string) => Promise<Result>) => Promise<Result>;
}

/** A group's database that takes longer is shown as a gap. */
const withinMs = 3_000;

/**
 * What the groups of this database and the others know of a message. Never rejects because of another database, and waits three
 * seconds for it at most. For a group that has both, its own database counts, if that answers.
 */
export async function readSides(
  sql: Sql,
  others: readonly OtherGroup[],
  ids: readonly string[],
): Promise<readonly GroupSide[]> {
  const [here, ...there] = await Promise.all([
    readTraces(sql, ids),
    ...others.map((other) => readOther(other, ids)),
  ]);
  const answered = new Set(there.flatMap((side) => (side.kind === 'answered' ? [side.trace.group] : [])));
  const named = new Set(others.map(({ group }) => group));
  const mine = here
    .filter((trace) => !answered.has(trace.group) && (!named.has(trace.group) || hasTrace(trace)))
    .map((trace): GroupSide => ({ kind: 'answered', trace, elsewhere: null }));
  return [...mine, ...there];
}

async function readOther({ group, read }: OtherGroup, ids: readonly string[]): Promise<GroupSide> {
  const asked = read(async (sql, address): Promise<GroupSide> => {
    const [trace] = await readTraces(sql, ids, group);
    if (trace === undefined) throw new Error('no answer');
    return { kind: 'answered', trace, elsewhere: address };
  });
  try {
    const side = await orLate(asked, withinMs);
    if (side !== late) return side;
    asked.catch(() => undefined);
    return { kind: 'away', group, reason: `its database does not answer within ${withinMs / 1_000} s.` };
  } catch (error) {
    return { kind: 'away', group, reason: causeIn(reasonOf(error)) };
  }
}
