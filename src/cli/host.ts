import { AsyncLocalStorage } from 'node:async_hooks';
import type { Writable } from 'node:stream';
import type { HidingInput } from './read-hidden.ts';

/** Where a command writes; a terminal says so, and how wide it is. */
export type HostStream = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** What a command has of the process that it runs in. */
export interface Host {
  /** What was typed behind the name of the program. */
  readonly args: readonly string[];
  readonly stdin: HidingInput;
  readonly stdout: HostStream;
  readonly stderr: HostStream;
  /** With what the process ends, unless something else ends it. */
  exitCode: number;
  /** A signal that fires when the command is to stop. */
  stopSignal(): AbortSignal;
  /** Ends the process although something that nobody waits for, such as a connection that is being opened, would keep it alive. */
  leave(exitCode: number): void;
}

/** This process: SIGINT and SIGTERM stop a command. */
export function thisProcess(): Host {
  return {
    args: process.argv.slice(2),
    // What is only looked at must not be opened.
    get stdin() {
      return process.stdin;
    },
    stdout: process.stdout,
    stderr: process.stderr,
    get exitCode() {
      return Number(process.exitCode ?? 0);
    },
    set exitCode(code) {
      process.exitCode = code;
    },
    stopSignal: () => {
      const stop = new AbortController();
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
      return stop.signal;
    },
    // oxlint-disable-next-line unicorn/no-process-exit -- what would keep the process alive has no handle that could be closed
    leave: (exitCode) => process.exit(exitCode),
  };
}

const running = new AsyncLocalStorage<Host>();

/** The host of the command that is running, from whichever function of it this is called. */
export function currentHost(): Host {
  return running.getStore() ?? thisProcess();
}

/** Runs work whose {@link currentHost} is the given one. */
export function inHost<Result>(given: Host, work: () => Result): Result {
  return running.run(given, work);
}
