import type { ScheduleDifference } from '../../core/schedule-difference.ts';
import type { Database } from '../../store/database/database.ts';
import { readInstallation } from '../../store/installation/installation.ts';
import {
  type ComparedSchedule,
  readSchedulesToCompare,
  type WantedSchedule,
} from '../../store/schedule/follow.ts';
import { type Finding, shownViolations, type Violation } from '../../store/verify/finding.ts';

/** Asks Temporal how its schedules differ from these rows; those that do not are left out. */
export type CompareSchedules = (
  installation: string,
  rows: readonly WantedSchedule[],
) => Promise<ReadonlyMap<string, ScheduleDifference>>;

/** What is wrong, and what to do. */
const sentences: Readonly<Record<ScheduleDifference, string>> = {
  missing:
    'Temporal has no schedule for it, so it writes no messages. A running relay creates it within a minute; its log says why not.',
  different:
    'Temporal has another version of it, so it may write at wrong times. A running relay repairs it within a minute; its log says why not.',
  extra:
    'Temporal has a schedule without a row. It writes no messages, and a running relay deletes it at its next time.',
};

/**
 * Compares the rows of schedules with Temporal's. What was changed within the grace, or changes meanwhile, is not judged. If Temporal
 * cannot be asked, nothing is: `notCompared` counts the rows.
 */
export async function verifySchedules(
  database: Database,
  compare: CompareSchedules,
  graceMs: number,
): Promise<Finding> {
  const before = await readSchedulesToCompare(database, graceMs);
  const rows = before.filter(({ removed }) => !removed);
  const answer = await compare(await readInstallation(database), rows).catch(() => undefined);
  if (answer === undefined)
    return { checked: 0, violations: 0, first: [], notes: { notCompared: rows.length } };
  const after = await readSchedulesToCompare(database, graceMs);
  const found = [...answer].flatMap(([name, difference]) =>
    violationOf(name, difference, rowOf(before, name), rowOf(after, name)),
  );
  return {
    checked: rows.length,
    violations: found.length,
    first: found.slice(0, shownViolations),
    notes: {},
  };
}

const rowOf = (rows: readonly ComparedSchedule[], name: string): ComparedSchedule | undefined =>
  rows.find((row) => row.name === name);

function violationOf(
  name: string,
  difference: ScheduleDifference,
  before: ComparedSchedule | undefined,
  after: ComparedSchedule | undefined,
): readonly Violation[] {
  const unchanged = before?.version === after?.version && before?.removed === after?.removed;
  if (!unchanged || after?.settled === false) return [];
  return [{ what: sentences[difference], topic: after?.topic ?? null, id: name, key: null }];
}
