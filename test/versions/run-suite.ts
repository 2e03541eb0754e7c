import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Environment } from '../../dev/servers/index.ts';
import type { Suite } from './rows.ts';

/** Several times what the longest takes; one that hangs must not hang the rest. */
const longestMs = 20 * 60_000;

/** How a suite ended. */
export interface SuiteResult {
  readonly passed: boolean;
  /** What Node warned of in any process of the suite, with the places. */
  readonly warnings: string;
  readonly seconds: number;
}

/** What a suite is run with. */
export interface SuiteOptions {
  /** The repository, or a copy of it. */
  readonly root: string;
  /** The folder of the program `node`. */
  readonly bin: string;
  /** An empty folder for what is said. */
  readonly folder: string;
  readonly env: Environment;
}

/**
 * Runs a suite by the given Node, and takes down every warning of all of its processes: they inherit the file that Node
 * writes warnings to, also those whose output is not read.
 *
 * @throws when the program is another version, or does not write its warnings
 */
export async function runSuite(
  suite: Suite,
  { root, bin, folder, env }: SuiteOptions,
  version: string,
): Promise<SuiteResult> {
  const node = join(bin, 'node');
  const warnings = join(folder, `${suite.name}.warnings`);
  const suiteEnv = {
    ...env,
    PATH: `${bin}${delimiter}${env['PATH'] ?? ''}`,
    NODE_OPTIONS: `${env['NODE_OPTIONS'] ?? ''} --trace-warnings`.trim(),
    NODE_REDIRECT_WARNINGS: warnings,
  };
  tryOut(node, suiteEnv, version);
  const startedAt = performance.now();
  const log = openSync(join(folder, `${suite.name}.log`), 'a');
  // A group of its own, so that it ends with all that it started.
  const child = spawn(node, suite.args, {
    cwd: root,
    env: suiteEnv,
    stdio: ['ignore', log, log],
    detached: true,
  });
  const code = await ended(child);
  closeSync(log);
  return {
    passed: code === 0,
    warnings: existsSync(warnings) ? readFileSync(warnings, 'utf8') : '',
    seconds: (performance.now() - startedAt) / 1_000,
  };
}

/** A check that sees no output would always pass. */
function tryOut(node: string, env: Environment & { NODE_REDIRECT_WARNINGS: string }, version: string): void {
  const program = "process.emitWarning('heard'); console.log(process.versions.node)";
  const { stdout } = spawnSync(node, ['-e', program], { env, encoding: 'utf8' });
  if (stdout.trim() !== version) throw new Error(`${node} is Node ${stdout.trim()}, not ${version}.`);
  if (!readFileSync(env.NODE_REDIRECT_WARNINGS, 'utf8').includes('heard'))
    throw new Error(`Node ${version} does not write its warnings to the file.`);
  rmSync(env.NODE_REDIRECT_WARNINGS);
}

async function ended(child: ChildProcess): Promise<number> {
  const end = (signal: NodeJS.Signals): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal);
    } catch {
      // It has gone already.
    }
  };
  const interrupted = (): void => end('SIGTERM');
  const tooLong = setTimeout(() => end('SIGKILL'), longestMs);
  process.once('exit', interrupted);
  return new Promise<number>((done, reject) => {
    child.once('error', reject).once('close', (code) => done(code ?? 1));
  }).finally(() => {
    clearTimeout(tooLong);
    process.off('exit', interrupted);
  });
}
