import { spawn } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';
import type { Mutation } from './mutation.ts';
import { judge, type TestResults, type Verdict } from './verdict.ts';

/** Longer than any named test takes; a bug that hangs its test is caught by the test's own limit before. */
const longestMs = 120_000;

/** The project of vitest that a test file belongs to. */
export function projectOf(test: string): string {
  const [, folder = '', name = '', part = ''] = test.split('/');
  if (folder === 'transports') return `transports-${name}${part === 'end-to-end' ? '-end-to-end' : ''}`;
  return ['unit', 'contract', 'faults'].includes(folder) ? folder : 'integration';
}

/**
 * Runs the tests of an entry in a copy of the repository, until the first is red.
 *
 * @param servers addresses of running servers as variables of the environment
 */
export async function tryTests(
  root: string,
  { test, title }: Mutation,
  servers: Readonly<Record<string, string>>,
): Promise<Verdict> {
  const named = title === undefined ? [] : ['-t', title.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)];
  const run = [...projectsOf([test]), ...named, test];
  const results = await runVitest(root, [...run, '--bail=1'], servers, longestMs);
  const verdict = judge(results);
  if (results === undefined || verdict.kind !== 'timed out') return verdict;
  // The first to be red has only waited; one behind it may say what is broken.
  return judge(await runVitest(root, run, servers, longestMs));
}

/** Runs test files until the first is red. */
export async function runFiles(
  root: string,
  tests: readonly string[],
  servers: Readonly<Record<string, string>>,
): Promise<TestResults | undefined> {
  return runVitest(root, [...projectsOf(tests), '--bail=1', ...tests], servers, 3 * longestMs);
}

/** Runs the tests of projects whose paths contain one of the words, or all, and has them note in the folder what they execute. */
export async function runCovering(
  root: string,
  folder: string,
  { projects, words }: { readonly projects: readonly string[]; readonly words: readonly string[] },
  servers: Readonly<Record<string, string>>,
): Promise<void> {
  const noting = { ...servers, OUTBOX_EXECUTED: folder };
  const named = projects.flatMap((project) => ['--project', project]);
  await runVitest(root, [...named, ...words], noting, 60 * longestMs);
}

function projectsOf(tests: readonly string[]): readonly string[] {
  return [...new Set(tests.map((test) => projectOf(test)))].flatMap((project) => ['--project', project]);
}

async function runVitest(
  root: string,
  args: readonly string[],
  servers: Readonly<Record<string, string>>,
  limitMs: number,
): Promise<TestResults | undefined> {
  // Outside of the repository, whose files a gate may be reading.
  const outputFile = join(tmpdir(), `temporal-outbox-mutation-results-${process.pid}.json`);
  rmSync(outputFile, { force: true });
  // What is red here is no failure of the run that counts them.
  const { VITEST_RESULT_FILE: _file, VITEST_RESULT_FOLDER: _folder, ...inherited } = env;
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const child = spawn(
    process.execPath,
    [vitest, 'run', '--reporter=json', `--outputFile=${outputFile}`, ...args],
    // A group of its own, so that it ends with all that it started.
    { cwd: root, env: { ...inherited, ...servers }, stdio: ['ignore', 'ignore', 'pipe'], detached: true },
  );
  let complaints = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaints += text));
  const tooLong = setTimeout(() => end('SIGKILL'), limitMs);
  const interrupted = (): void => end('SIGTERM');
  process.once('exit', interrupted);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject).once('close', resolve);
  }).finally(() => {
    clearTimeout(tooLong);
    process.off('exit', interrupted);
  });
  if (code === null) return undefined;
  try {
    return { ...(JSON.parse(readFileSync(outputFile, 'utf8')) as TestResults), exitCode: code };
  } catch {
    return { testResults: [{ message: complaints.trim(), assertionResults: [] }] };
  } finally {
    rmSync(outputFile, { force: true });
  }

  function end(signal: NodeJS.Signals): void {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal);
    } catch {
      // It has gone already.
    }
  }
}
