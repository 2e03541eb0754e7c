import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { filesToRepeat, judged, type Results, secondRun, unstableLines } from '../../../tools/second-run.mjs';

type File = Results['testResults'][number];

/** A file by the states of its tests, whose titles are `0`, `1`, … */
function file(name: string, statuses: readonly string[], message = ''): File {
  const assertionResults = statuses.map((status, index) => ({
    fullName: String(index),
    status,
    failureMessages: status === 'failed' ? [`Error: red ${index}\n    at ${name}:1:1`] : [],
  }));
  const isRed = message !== '' || statuses.includes('failed');
  return { name, status: isRed ? 'failed' : 'passed', message, assertionResults };
}

function results(testResults: readonly File[], errorsOutsideTests = 0): Results {
  return { errorsOutsideTests, testResults };
}

const green = (name: string) => file(name, ['passed', 'passed']);
const red = (name: string) => file(name, ['passed', 'failed']);
const names = (count: number) => Array.from({ length: count }, (_, index) => `${index}.test.ts`);

test('red files are run once more if they are three or fewer, and no green one', () => {
  expect(filesToRepeat(results([green('a'), ...names(3).map(red)]))).toEqual(names(3));
  expect(filesToRepeat(results([green('a'), ...names(4).map(red)]))).toEqual([]);
});

test.for([
  ['no result file was written', undefined],
  ['no file is red', results([green('a')])],
  ['an error happened outside of tests', results([red('a')], 1)],
  ['the result file does not say whether one did', { testResults: [red('a')] }],
  ['a file could not be loaded', results([file('a', [], 'Cannot find module')])],
  ['a file could not be loaded, and a test of another is red', results([file('a', [], 'no'), red('b')])],
  ['a red file has an error besides its red tests', results([file('a', ['failed'], 'afterAll failed')])],
  ['a file is red without a red test', results([{ ...file('a', ['skipped']), status: 'failed' }])],
] satisfies [string, Results | undefined][])('nothing is run once more if %s', ([, first]) => {
  expect(filesToRepeat(first)).toEqual([]);
});

test('what is green alone makes the gate green, and its red tests unstable', () => {
  const other = file('b', ['passed', 'skipped']);

  const judgement = judged(results([red('a'), other]), results([green('a')]), true);

  expect(judgement).toEqual({
    isGreen: true,
    unstable: [{ file: 'a', title: '1', error: 'Error: red 1' }],
    testResults: [green('a'), other],
  });
});

test('what is red again stays red, beside what is unstable', () => {
  const again = file('b', ['failed', 'passed']);

  const judgement = judged(results([red('a'), red('b')]), results([green('a'), again]), false);

  expect(judgement.isGreen).toBe(false);
  expect(judgement.unstable.map(({ file: name, title }) => `${name} ${title}`)).toEqual(['a 1', 'b 1']);
  expect(judgement.testResults).toEqual([green('a'), again]);
});

test('the second result of a red file counts even if another test of it is red, or it could not be loaded', () => {
  for (const again of [file('a', ['failed', 'skipped']), file('a', [], 'Cannot find module')]) {
    const judgement = judged(results([red('a')]), results([again]), false);
    expect(judgement).toEqual({ isGreen: false, unstable: [], testResults: [again] });
  }
});

test('a second run that is red elsewhere is red', () => {
  expect(judged(results([red('a')]), results([green('a'), red('b')]), false).isGreen).toBe(false);
});

test.for([
  ['wrote no results', undefined, false],
  ['is red without a red test', results([green('a')]), false],
  ['had an error outside of tests', results([green('a')], 1), true],
  ['left out a file', results([]), true],
  ['left out the red test', results([file('a', ['passed'])]), true],
  ['skipped the red test', results([file('a', ['passed', 'skipped'])]), true],
] satisfies [string, Results | undefined, boolean][])(
  'a second run that %s proves nothing: the first result counts',
  ([, second, isGreen]) => {
    const first = results([red('a')]);
    expect(judged(first, second, isGreen)).toEqual({
      isGreen: false,
      unstable: [],
      testResults: first.testResults,
    });
  },
);

/** The gate after a second run whose program is `run`, and what `.ci/run` counts then. */
async function counted(gate: string, first: Results | undefined, run: (resultFile: string) => boolean) {
  const folder = mkdtempSync(join(tmpdir(), 'temporal-outbox-second-run-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const resultFile = join(folder, 'gate.json');
  if (first !== undefined) writeFileSync(resultFile, JSON.stringify(first));
  const runs: string[] = [];
  const { isGreen, unstable } = await secondRun(gate, resultFile, async (again, options, secondFile) => {
    runs.push([again, ...options].join(' '));
    // Its own results count until the second run has ended.
    expect(existsSync(resultFile) && JSON.parse(readFileSync(resultFile, 'utf8'))).toEqual(first);
    return run(secondFile);
  });
  const program = join(import.meta.dirname, '../../../tools/count-tests.mjs');
  const { stdout } = spawnSync(process.execPath, [program, folder], { encoding: 'utf8' });
  return { isGreen, unstable: unstable.length, runs, counts: stdout.trim() };
}

/** A second run that ends with these results. */
const ending =
  (isGreen: boolean, ...files: readonly File[]) =>
  (resultFile: string) => {
    writeFileSync(resultFile, JSON.stringify(results(files)));
    return isGreen;
  };

test('an unstable test counts once, as passed', async () => {
  expect(await counted('test:core', results([red('a'), green('b')]), ending(true, green('a')))).toEqual({
    isGreen: true,
    unstable: 1,
    runs: ['test:core -- --no-file-parallelism a'],
    counts: '4 0',
  });
});

test('a test that is red again counts once, as failed', async () => {
  expect(await counted('examples', results([red('a'), green('b')]), ending(false, red('a')))).toEqual({
    isGreen: false,
    unstable: 0,
    runs: ['examples -- --no-file-parallelism a'],
    counts: '3 1',
  });
});

test('a second run that writes nothing leaves the counts of the first', async () => {
  expect(await counted('test:faults', results([red('a')]), () => false)).toMatchObject({
    isGreen: false,
    counts: '1 1',
  });
});

test('gates of other kinds, and without a result file, are not run once more', async () => {
  for (const [gate, first] of [
    ['test:mutations -- --rotate 8', results([red('a')])],
    ['test:core', undefined],
  ] as const) {
    expect(await counted(gate, first, ending(true, green('a')))).toMatchObject({ isGreen: false, runs: [] });
  }
});

test('unstable tests are listed by file and title, with the first line of their error', () => {
  const absolute = join(process.cwd(), 'test/a.test.ts');
  expect(unstableLines([])).toEqual([]);
  expect(unstableLines([{ file: absolute, title: 'a title', error: 'Error: red' }])).toEqual([
    '',
    '1 unstable test, red beside others and green alone. Mend the cause:',
    '  test/a.test.ts: a title',
    '    Error: red',
  ]);
});
