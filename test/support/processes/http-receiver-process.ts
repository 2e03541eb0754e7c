import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { builtProgram } from './built-program.ts';

export interface HttpReceiverSettings {
  readonly port: number;
  /** What it does with `receive`, in a table `effect (n, consumer)`. @defaultValue nothing: it accepts everything */
  readonly receives?: {
    readonly url: string;
    readonly secret: string;
    /** Written with each of its effects. */
    readonly name: string;
    /** The answer, from 1, in place of which the process kills itself. @defaultValue none */
    readonly dieAtAnswer?: number;
  };
}

/** A web server in a process of its own. */
export interface HttpReceiver {
  readonly pid: number;
  /** Resolves with the signal that ended it. */
  readonly exited: Promise<NodeJS.Signals | null>;
  /** Kills it as `kill -9` does. */
  kill(): Promise<void>;
}

/** Starts it as a child process, and waits until it listens; it ends with the test. */
export async function startHttpReceiver(settings: HttpReceiverSettings): Promise<HttpReceiver> {
  const child = spawn(process.execPath, [builtProgram('http-receiver-main'), JSON.stringify(settings)], {
    cwd: fileURLToPath(new URL('../../../', import.meta.url)),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  const kill = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await ended;
  };
  onTestFinished(kill);
  await Promise.race([once(createInterface({ input: child.stdout }), 'line'), ended]);
  return { pid: child.pid ?? 0, exited: ended.then(([, signal]) => signal), kill };
}
