import type { Finding, Violation } from '../../store/verify/finding.ts';

export type { Violation };

/** Names of what is promised, as in the documentation. */
export type Invariant =
  | 'I1 no loss'
  | 'I2 no ghost'
  | 'I3 order per key'
  | 'I4 effect once'
  | 'I5 canceled is not published'
  | 'I6 never early'
  | 'I9 legal states'
  | 'I9 guards, indexes and lanes'
  | 'I11 duplicates';

/** How one promise was kept. */
export interface InvariantResult {
  /** Which promise. */
  readonly invariant: Invariant;
  /** False: it was broken. */
  readonly ok: boolean;
  /** How many things were looked at. */
  readonly checked: number;
  /** How often it was broken. */
  readonly violations: number;
  /** The first 20 violations. */
  readonly first: readonly Violation[];
  /**
   * Counts of what is no violation: `late`, due for long and not published yet; `undecided`, inversions that may be of
   * transactions that overlapped; `notJudged`, older than the log or the history that is kept; `foreign`, records of
   * others; `duplicates`.
   */
  readonly notes: Readonly<Record<string, number>>;
}

/** What a verification found. */
export interface VerifyReport {
  /** False when an invariant is broken. */
  readonly ok: boolean;
  /** One result per promise that was judged. */
  readonly invariants: readonly InvariantResult[];
  /** Records read. */
  readonly records: number;
  /** Topics whose log cannot be read: what was sent there is not judged. */
  readonly unreadTopics: readonly string[];
}

export function resultOf(invariant: Invariant, finding: Finding): InvariantResult {
  return { invariant, ok: finding.violations === 0, ...finding };
}
