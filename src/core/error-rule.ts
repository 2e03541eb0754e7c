/** What to do about an error: whether the same call may succeed later, and the next step for the reader. */
export interface ErrorRule {
  /** True when the same call may succeed later without a change by the caller. */
  readonly retryable: boolean;
  /** What to do next, as an instruction. */
  readonly next: string;
}
