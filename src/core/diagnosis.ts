/**
 * `problem`: a promise is at risk, or something does not work. `warning`: it works, but look at it. `unexamined`: there was no
 * answer in time, twice, which on a busy machine says nothing about the server.
 */
export type FindingState = 'ok' | 'warning' | 'problem' | 'unexamined';

/** The answer to one check. */
export interface Diagnosis {
  /** How serious it is. */
  readonly state: FindingState;
  /** What was found, and what it means. */
  readonly message: string;
  /** The command, statement or step that mends it; `null` if nothing has to be done. */
  readonly next: string | null;
}

/** The answer to a named check. */
export interface DoctorFinding extends Diagnosis {
  /** Name of the check, such as `fsync`. */
  readonly check: string;
}

/** One question about facts. */
export interface DoctorCheck<Facts> {
  readonly check: string;
  /** Judges the facts; `undefined`: the question does not apply to them. */
  readonly judge: (facts: Facts) => Diagnosis | undefined;
}

export function fine(message: string): Diagnosis {
  return { state: 'ok', message, next: null };
}

export function warning(message: string, next: string): Diagnosis {
  return { state: 'warning', message, next };
}

export function problem(message: string, next: string): Diagnosis {
  return { state: 'problem', message, next };
}

/** Asks all of these questions, in their order. */
export function judgeAll<Facts>(
  checks: readonly DoctorCheck<Facts>[],
  facts: Facts,
): readonly DoctorFinding[] {
  return checks.flatMap(({ check, judge }) => {
    const diagnosis = judge(facts);
    return diagnosis === undefined ? [] : [{ check, ...diagnosis }];
  });
}

/** The first three of some names, and the number of the others. */
export function firstOf(names: readonly string[]): string {
  const more = names.length > 3 ? ` and ${names.length - 3} more` : '';
  return `${names.slice(0, 3).join(', ')}${more}`;
}

/** `1 lane` or `2 lanes`. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : plural}`;
}
