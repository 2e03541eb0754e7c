import { type ChildProcess, spawn } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

/** A process whose lines are shown among those of others. */
export interface SideProcess {
  /** Resolves with its exit code when it ends; `null` after a signal. */
  readonly exited: Promise<number | null>;
  /** Ends it: politely, and after twenty seconds with everything that it has started. */
  stop(): Promise<void>;
}

export interface SideProcessOptions {
  /** Arguments of Node. */
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** Ends its group if this process was killed. */
  readonly guard: Guard;
  /** Called with each line of its output. */
  readonly tell: (line: string, from: 'stdout' | 'stderr') => void;
}

/** A process of its own that ends process groups after this process, whatever ended it. */
export interface Guard {
  readonly begun: (group: number) => void;
  readonly ended: (group: number) => void;
  /** Lets it end. */
  stop(): void;
}

const politelyMs = 20_000;

export function startGuard(): Guard {
  const child = spawn(process.execPath, [path.join(__dirname, 'dev-guard.js')], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  // Without it only a kill of this process is less tidy.
  child.on('error', () => undefined);
  child.stdin.on('error', () => undefined);
  return {
    begun: (group) => void child.stdin.write(`${group}\n`),
    ended: (group) => void child.stdin.write(`${-group}\n`),
    stop: () => void child.stdin.end(),
  };
}

/**
 * Starts Node in a process group of its own, so that Ctrl-C signals only this process, which then ends the other. If this
 * process exits before, the group is killed.
 */
export function startSideProcess({ args, env, guard, tell }: SideProcessOptions): SideProcess {
  const child = spawn(process.execPath, [...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const { pid = 0 } = child;
  if (pid > 0) guard.begun(pid);
  const killAll = (): void => killGroup(child);
  process.once('exit', killAll);
  const exited = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    // Not `exit`, after which lines may still arrive.
    child.once('close', (code) => resolve(code));
  }).finally(() => {
    process.off('exit', killAll);
    guard.ended(pid);
  });
  exited.catch(() => undefined);
  readLines(child.stdout, (line) => tell(line, 'stdout'));
  readLines(child.stderr, (line) => tell(line, 'stderr'));
  return {
    exited,
    async stop() {
      child.kill('SIGTERM');
      const late = setTimeout(killAll, politelyMs);
      await exited.catch(() => undefined);
      clearTimeout(late);
    },
  };
}

function readLines(stream: Readable, tell: (line: string) => void): void {
  createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY }).on('line', tell);
}

function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All of them have ended.
  }
}
