/** What is read of a result file of vitest, as `test/support/result-file.ts` writes it. */
export interface Results {
  readonly errorsOutsideTests?: number;
  readonly testResults: readonly FileResult[];
}

interface FileResult {
  readonly name: string;
  readonly status: string;
  readonly message: string;
  readonly assertionResults: readonly TestResult[];
}

interface TestResult {
  readonly fullName: string;
  readonly status: string;
  readonly failureMessages: readonly string[];
}

/** A test that was red among others and green alone. */
export interface Unstable {
  readonly file: string;
  readonly title: string;
  readonly error: string;
}

interface Judgement {
  readonly isGreen: boolean;
  readonly unstable: readonly Unstable[];
}

/** Runs a gate with arguments and a result file; whether it is green. */
type Run = (gate: string, options: readonly string[], resultFile: string) => Promise<boolean>;

export function filesToRepeat(results: Results | undefined): readonly string[];
export function judged(
  first: Results,
  second: Results | undefined,
  isGreen: boolean,
): Judgement & { readonly testResults: readonly FileResult[] };
export function secondRun(gate: string, resultFile: string, run: Run): Promise<Judgement>;
export function unstableLines(unstable: readonly Unstable[]): readonly string[];
