import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { builtProgram } from './built-program.ts';
import type { FedProcessSettings } from './fed-process.ts';

/** A consumer in a separate process, whose handler never ends. */
export interface LingeringProcess {
  /** Resolves with the number of the message in hand. */
  readonly inHand: Promise<number>;
  /** Kills it as `kill -9` does. */
  kill(): Promise<void>;
}

/** Starts it as a child process. */
export function startLingering(settings: FedProcessSettings): LingeringProcess {
  const child = spawn(process.execPath, [builtProgram('fed-main'), JSON.stringify(settings)], {
    cwd: fileURLToPath(new URL('../../../', import.meta.url)),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const line = once(createInterface({ input: child.stdout }), 'line');
  return {
    inHand: line.then(([text]) => Number(String(text).replace('in hand ', ''))),
    async kill() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await exited;
    },
  };
}
