import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { CrashPoint } from '../../src/core/crash-point.ts';

/** Where a process of a test ends as `kill -9` ends it. */
export interface Crash {
  readonly point: CrashPoint;
  /** At which pass of the point, from 1. */
  readonly pass: number;
}

const root = fileURLToPath(new URL('../../', import.meta.url));

/**
 * Runs a file as a child process, from the sources, until it has ended; answers the signal that ended it.
 *
 * @param main its address, from `new URL('…', import.meta.url)`
 * @param settings what the file reads as JSON from its first argument
 */
export async function runDoomed(
  main: URL,
  settings: { readonly crash?: Crash },
): Promise<NodeJS.Signals | null> {
  const child = spawn(
    process.execPath,
    ['--import', 'jiti/register', fileURLToPath(main), JSON.stringify(settings)],
    {
      cwd: root,
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  const [, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  return signal;
}
