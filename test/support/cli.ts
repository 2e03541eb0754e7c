import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));

/** How a command ended. */
export interface CliEnd {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command line as it is built, as a process of its own, without a terminal. */
export async function runCli(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<CliEnd> {
  const child = spawn(process.execPath, [main, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  if (child.exitCode === null) await once(child, 'exit');
  return { code: child.exitCode, stdout, stderr };
}
