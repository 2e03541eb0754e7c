import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, symlinkSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';
import { cacheFolder } from '../../src/local/cache-folder.ts';
import type { Environment } from '../../src/local/index.ts';
import { builtProgram } from './built-program.ts';

interface TestEnd {
  readonly onTestFinished: (work: () => Promise<void>) => void;
}

/**
 * A cache folder of the test's own, which shares only what is installed; and the environment that names it.
 *
 * @param context of a test that runs beside others
 */
export async function ownCache(
  context: TestEnd = { onTestFinished },
): Promise<{ readonly cache: string; readonly env: Environment }> {
  const cache = mkdtempSync(join(tmpdir(), 'outbox-cache-'));
  context.onTestFinished(() => rm(cache, { recursive: true, force: true }));
  const user = { platform: process.platform, root: process.getuid?.() === 0, home: homedir() };
  const installed = join(cacheFolder(process.env, user), 'installed');
  await mkdir(installed, { recursive: true });
  symlinkSync(installed, join(cache, 'installed'));
  const { DATABASE_URL: _1, TEMPORAL_ADDRESS: _2, KAFKA_BROKERS: _3, REDIS_URL: _4, ...env } = process.env;
  return { cache, env: { ...env, CI: 'true', TEMPORAL_OUTBOX_CACHE: cache } };
}

/** What is left of servers in a cache folder: records and temporary data. */
export function leftIn(cache: string): readonly string[] {
  return readdirSync(join(cache, 'run')).toSorted();
}

/** A process that started servers. */
export interface ServerParent {
  readonly process: ChildProcess;
  /** The ids of its servers. */
  readonly pids: readonly number[];
  /** How it ended. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
}

/** Runs `local-parent.ts` and waits until its servers answer. */
export async function startParent(env: Environment, ...args: readonly string[]): Promise<ServerParent> {
  const child = spawn(process.execPath, [builtProgram('local-parent'), ...args], {
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.once('exit', (code, signal) => resolve(code ?? signal));
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  for await (const line of createInterface(child.stdout)) {
    return { process: child, ended, pids: (JSON.parse(line) as { pids: number[] }).pids };
  }
  throw new Error(`The process ended with ${await ended} before its servers answered.`);
}
