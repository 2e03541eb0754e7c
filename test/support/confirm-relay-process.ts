import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { CrashPoint } from '../../src/core/crash-point.ts';

export interface ConfirmRelaySettings {
  readonly url: string;
  readonly temporalAddress: string;
  readonly brokers: string;
  readonly address: string;
  readonly group: string;
  /** Where the process ends as `kill -9` ends it. */
  readonly crash: { readonly point: CrashPoint; readonly pass: number };
}

const main = fileURLToPath(new URL('confirm-relay-main.ts', import.meta.url));
const root = fileURLToPath(new URL('../../', import.meta.url));

/** Runs a relay as a child process, from the sources, until it has ended; answers the signal that ended it. */
export async function runConfirmRelay(settings: ConfirmRelaySettings): Promise<NodeJS.Signals | null> {
  const child = spawn(process.execPath, ['--import', 'jiti/register', main, JSON.stringify(settings)], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  return signal;
}
