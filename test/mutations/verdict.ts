import { stripVTControlCharacters } from 'node:util';

/**
 * What came of a planted bug.
 *
 * - `caught`: a test was red by what it expects, or the run by an error that belongs to none.
 * - `timed out`: red, but only because something took too long. That does not say what is broken, and on a busy machine
 *   it is red without a bug, so it counts as little as `survived`.
 * - `survived`: all tests were green.
 * - `stale`: the entry does not fit the sources any more.
 * - `broken`: no test ran: the title is gone, or the change does not load.
 */
export interface Verdict {
  readonly kind: 'caught' | 'timed out' | 'survived' | 'stale' | 'broken';
  /** What the test said; for the last two, why. */
  readonly said: string;
}

/** What is read of a result file of vitest. */
export interface TestResults {
  /** False after any failure, also of a file that has hung or lost its process. */
  readonly success?: boolean;
  /** Of vitest: not 0 after an unhandled error as well, of which its results say nothing. */
  readonly exitCode?: number;
  readonly testResults: readonly {
    readonly message: string;
    readonly assertionResults: readonly {
      readonly title: string;
      readonly status: string;
      readonly failureMessages?: readonly string[];
    }[];
  }[];
}

/**
 * A wait that ended says that something did not happen, not what happened instead. A test that vitest has ended has the
 * middle one of these as its message.
 */
const outOfTime =
  /^(?:Error: )?(?:(?:Test|Hook) timed out in |STACK_TRACE_ERROR|The condition did not come true in )/;

/** Judges a run by its results; `undefined`: it was ended because it took too long. */
export function judge(results: TestResults | undefined): Verdict {
  if (results === undefined) return { kind: 'timed out', said: 'the tests were ended' };
  const tests = results.testResults.flatMap(({ assertionResults }) => assertionResults);
  const failures = tests.flatMap(({ status, failureMessages = [] }) =>
    status === 'failed' ? failureMessages : [],
  );
  const said = failures.map((message) => firstLine(message));
  const precise = said.find((line) => !outOfTime.test(line));
  if (precise !== undefined) return { kind: 'caught', said: precise };
  if (said[0] !== undefined) return { kind: 'timed out', said: said[0] };
  const loading = results.testResults.map(({ message }) => message).find((message) => message !== '');
  if (loading !== undefined) return { kind: 'broken', said: firstLine(loading) };
  if (results.success === false && tests.length > 0)
    return { kind: 'timed out', said: 'a test file did not end' };
  if (tests.some(({ status }) => status === 'passed'))
    return (results.exitCode ?? 0) === 0
      ? { kind: 'survived', said: 'every test was green' }
      : { kind: 'caught', said: 'an error outside of the tests' };
  return { kind: 'broken', said: 'no test has that title' };
}

function firstLine(message: string): string {
  return stripVTControlCharacters(message).split('\n', 1)[0]?.trim() ?? '';
}
