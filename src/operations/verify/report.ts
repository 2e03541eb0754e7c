import type { Finding, Violation } from '../../store/verify/finding.ts';

export type { Violation };

/** Names of the promises, as in the documentation. */
export type Invariant =
  | 'I1 no loss'
  | 'I2 no ghost'
  | 'I3 order per key'
  | 'I4 effect once'
  | 'I4 passed is handled'
  | 'I5 canceled is not published'
  | 'I6 never early'
  | 'I9 legal states'
  | 'I9 guards, indexes and lanes'
  | 'I11 duplicates'
  | 'I14 audit as written'
  | 'schedules in Temporal';

/** Whether one promise was kept. */
export interface InvariantResult {
  /** Which promise. */
  readonly invariant: Invariant;
  /** False: it was broken. */
  readonly ok: boolean;
  /** How many things were checked. */
  readonly checked: number;
  /** How often it was broken. */
  readonly violations: number;
  /** The first 20 violations. */
  readonly first: readonly Violation[];
  /**
   * Counts that are not violations: `late`, long due and not published yet; `undecided`, inversions that may stem from
   * overlapping transactions; `notJudged`, older than the log, history or processed ids that are kept; `foreign`, records of other senders;
   * `duplicates`; `notCompared`, schedules while Temporal could not be asked: `doctor` says why.
   */
  readonly notes: Readonly<Record<string, number>>;
}

/** What a verification found. */
export interface VerifyReport {
  /** False if an invariant is broken. */
  readonly ok: boolean;
  /** One result per promise that was checked. */
  readonly invariants: readonly InvariantResult[];
  /** Number of records read. */
  readonly records: number;
  /** Topics whose log cannot be read: their messages are not checked. */
  readonly unreadTopics: readonly string[];
}

export function resultOf(invariant: Invariant, finding: Finding): InvariantResult {
  return { invariant, ok: finding.violations === 0, ...finding };
}
