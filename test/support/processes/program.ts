import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { CrashPoint } from '../../../src/core/crash-point.ts';
import { builtProgram } from './built-program.ts';
import type { ConfirmRelaySettings } from './confirm-relay-main.ts';
import type { ConsumerProcessSettings } from './consumer-main.ts';
import type { FedProcessSettings } from './fed-main.ts';
import type { HandlerSettings } from './handler-main.ts';
import type { HttpReceiverSettings } from './http-receiver-main.ts';
import type { OrderWorkerSettings } from './order-worker-main.ts';

/** Where a process under test dies as if by `kill -9`. */
export interface Crash {
  readonly point: CrashPoint;
  /** The pass of the crash point, from 1. */
  readonly pass: number;
}

/** Programs of this folder, and what each reads as JSON from its first argument. */
interface Settings {
  readonly 'confirm-relay-main': ConfirmRelaySettings;
  readonly 'consumer-main': ConsumerProcessSettings;
  readonly 'fed-main': FedProcessSettings;
  readonly 'handler-main': HandlerSettings;
  readonly 'http-receiver-main': HttpReceiverSettings;
  readonly 'order-worker-main': OrderWorkerSettings;
}

/** A process of its own, which a test may kill or freeze, or which does so itself. */
export interface Program {
  readonly pid: number;
  /** Resolves with the signal that ended it. */
  readonly exited: Promise<NodeJS.Signals | null>;
  /** What it has written so far. */
  readonly lines: readonly string[];
  /** Resolves with the first line that it writes; `undefined` if it ends without one. */
  readonly firstLine: Promise<string | undefined>;
  /** Kills it as `kill -9` does, if it still runs, and waits for its end. */
  kill(): Promise<void>;
}

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** Starts a program of this folder as a child process. */
export function startProgram<Name extends keyof Settings>(name: Name, settings: Settings[Name]): Program {
  const child = spawn(process.execPath, [builtProgram(name), JSON.stringify(settings)], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  const lines: string[] = [];
  const output = createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  return {
    pid: child.pid ?? 0,
    exited: ended.then(([, signal]) => signal),
    lines,
    firstLine: Promise.race([once(output, 'line'), once(output, 'close')]).then(() => lines[0]),
    async kill() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await ended;
    },
  };
}
