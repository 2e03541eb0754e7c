import { spawnSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** A process that cannot be mistaken for a later one with the same id. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Its start time in the format of the operating system; only compared for equality. */
  readonly startedAt: string;
}

/**
 * The start time of a running process, or `undefined` if there is none with this id.
 *
 * Differs between two processes that had the same id one after the other, also across a reboot. A zombie process
 * counts as gone.
 */
export function startedAtOf(pid: number): string | undefined {
  return process.platform === 'linux' ? startedAtFromProc(pid) : startedAtFromPs(pid);
}

/** The identity of a running process. */
export function identityOf(pid: number): ProcessIdentity | undefined {
  const startedAt = startedAtOf(pid);
  return startedAt === undefined ? undefined : { pid, startedAt };
}

/** Whether this exact process still runs, not a later one with the same id. */
export function isRunning(identity: ProcessIdentity): boolean {
  return startedAtOf(identity.pid) === identity.startedAt;
}

/** Identifies the set of process ids visible to this process: machine and, on Linux, PID namespace. */
export function processSpace(): string {
  if (process.platform !== 'linux') return hostname();
  return `${hostname()} ${readlinkSync('/proc/self/ns/pid')}`;
}

function startedAtFromProc(pid: number): string | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return undefined;
  }
  // The process name in parentheses may contain spaces and parentheses: fields are counted after the last one.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, startTicks] = [fields[0], fields[19]];
  if (state === 'Z' || state === 'X' || startTicks === undefined) return undefined;
  return `${bootId()} ${startTicks}`;
}

function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
}

function startedAtFromPs(pid: number): string | undefined {
  const ps = spawnSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], {
    encoding: 'utf8',
    env: { ...process.env, LC_ALL: 'C', TZ: 'UTC' },
  });
  const [state, ...startedAt] = ps.stdout.trim().split(/\s+/);
  if (ps.status !== 0 || !state || state.startsWith('Z')) return undefined;
  return startedAt.join(' ');
}
