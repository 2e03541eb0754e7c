import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { CrashPoint } from '../../src/core/crash-point.ts';
import { builtProgram } from './built-program.ts';

/** Where a process of a test ends as `kill -9` ends it. */
export interface Crash {
  readonly point: CrashPoint;
  /** At which pass of the point, from 1. */
  readonly pass: number;
}

const root = fileURLToPath(new URL('../../', import.meta.url));

/**
 * Runs a program of this folder as a child process until it has ended; answers the signal that ended it.
 *
 * @param settings what it reads as JSON from its first argument
 */
export async function runDoomed(
  program: string,
  settings: { readonly crash?: Crash },
): Promise<NodeJS.Signals | null> {
  const child = spawn(process.execPath, [builtProgram(program), JSON.stringify(settings)], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  return signal;
}
