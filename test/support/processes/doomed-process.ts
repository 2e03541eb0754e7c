import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { CrashPoint } from '../../../src/core/crash-point.ts';
import { builtProgram } from './built-program.ts';

/** Where a process under test dies as if by `kill -9`. */
export interface Crash {
  readonly point: CrashPoint;
  /** The pass of the crash point, from 1. */
  readonly pass: number;
}

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** A child process that ends by a signal. */
export interface DoomedProcess {
  readonly pid: number;
  /** Resolves with the signal that ended it. */
  readonly exited: Promise<NodeJS.Signals | null>;
}

/**
 * Starts a program of this folder as a child process.
 *
 * @param settings passed as JSON in the first argument
 */
export function startDoomed(program: string, settings: object): DoomedProcess {
  const child = spawn(process.execPath, [builtProgram(program), JSON.stringify(settings)], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  return { pid: child.pid ?? 0, exited: exited.then(([, signal]) => signal) };
}

/** Runs it until it exits. */
export function runDoomed(program: string, settings: object): Promise<NodeJS.Signals | null> {
  return startDoomed(program, settings).exited;
}
