/**
 * Runs the red test files of a gate once more, alone: of thousands of tests, one may miss on a busy machine what it shows
 * by itself. Whatever such a run cannot prove stays red.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** They run many test files beside each other. */
const gates = new Set([
  'test:core',
  'test:transports',
  'test:package',
  'examples',
  'test:scale',
  'test:faults',
]);
/** More have a common cause. */
const atMostFiles = 3;

/** Judges a red gate: whether it is green after all, and its unstable tests. The result file then says what counts. */
export async function secondRun(gate, resultFile, run) {
  const first = resultsIn(resultFile);
  const files = gates.has(gate) ? filesToRepeat(first) : [];
  if (files.length === 0) return { isGreen: false, unstable: [] };
  const folder = mkdtempSync(path.join(tmpdir(), 'temporal-outbox-second-run-'));
  try {
    const secondFile = path.join(folder, 'results.json');
    const isRunGreen = await run(gate, ['--', '--no-file-parallelism', ...files], secondFile);
    const { isGreen, unstable, testResults } = judged(first, resultsIn(secondFile), isRunGreen);
    writeFileSync(resultFile, JSON.stringify({ testResults }));
    return { isGreen, unstable };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The red files, if red tests of a few files are all that is wrong. */
export function filesToRepeat(results) {
  if (results?.errorsOutsideTests !== 0) return [];
  const red = results.testResults.filter(isRed);
  const isOnlyTests = red.every((file) => file.message === '' && redTests(file).length > 0);
  return isOnlyTests && red.length <= atMostFiles ? red.map(({ name }) => name) : [];
}

/** The second result of a file replaces its first, if it shows that all red tests passed, or what is red again. */
export function judged(first, second, isRunGreen) {
  const isWhole = second?.errorsOutsideTests === 0 && (isRunGreen || second.testResults.some(isRed));
  const seconds = new Map(isWhole ? second.testResults.map((file) => [file.name, file]) : []);
  const files = first.testResults.map((before) => ({
    before,
    after: resultThatCounts(before, seconds.get(before.name)),
  }));
  return {
    isGreen: isRunGreen && !files.some(({ after }) => isRed(after)),
    unstable: files.flatMap(({ before, after }) =>
      redTests(before)
        .filter((test) => passesIn(after, test))
        .map(({ failureMessages: [error = ''], fullName }) => ({
          file: before.name,
          title: fullName,
          error: error.split('\n', 1)[0],
        })),
    ),
    testResults: files.map(({ after }) => after),
  };
}

/** The lines that end CI's output, so that what is unstable is mended. */
export function unstableLines(unstable) {
  if (unstable.length === 0) return [];
  const tests = unstable.length === 1 ? '1 unstable test' : `${unstable.length} unstable tests`;
  return [
    '',
    `${tests}, red beside others and green alone. Mend the cause:`,
    ...unstable.flatMap(({ error, file, title }) => [
      `  ${path.relative(process.cwd(), file)}: ${title}`,
      `    ${error}`,
    ]),
  ];
}

function resultThatCounts(before, again) {
  if (again === undefined) return before;
  return isRed(again) || redTests(before).every((test) => passesIn(again, test)) ? again : before;
}

function isRed({ status }) {
  return status === 'failed';
}

function redTests({ assertionResults }) {
  return assertionResults.filter(isRed);
}

/** Several tests of a file may have the same title. */
function passesIn({ assertionResults }, { fullName }) {
  const same = assertionResults.filter((test) => test.fullName === fullName);
  return same.length > 0 && same.every(({ status }) => status === 'passed');
}

/** `undefined` of a run that ended before it wrote its results. */
function resultsIn(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}
