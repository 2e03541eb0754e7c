import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** Servers by name, each with the id of its first process. */
export type ServerPids = Readonly<Record<string, number>>;

/** Milliseconds of processor time that each server has used, with the processes that it started. */
export type ProcessorTimes = Readonly<Record<string, number>>;

const msPerTick = ticksMs();

function ticksMs(): number {
  try {
    return 1_000 / Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
  } catch {
    return 10;
  }
}

interface ProcessTime {
  readonly parent: number;
  /** Its own, and separately that of children that have ended and were waited for. */
  readonly own: number;
  readonly ended: number;
}

/** What the servers have used so far. Empty where there is no /proc. */
export function processorTimes(servers: ServerPids): ProcessorTimes {
  const processes = readProcesses();
  const times: Record<string, number> = {};
  for (const [name, pid] of Object.entries(servers)) {
    let ticks = 0;
    for (const [each, { ended, own }] of processes) if (descends(processes, each, pid)) ticks += own + ended;
    if (processes.has(pid)) times[name] = ticks * msPerTick;
  }
  return times;
}

function descends(processes: ReadonlyMap<number, ProcessTime>, pid: number, from: number): boolean {
  for (let each = pid; each > 1; each = processes.get(each)?.parent ?? 0) if (each === from) return true;
  return false;
}

function readProcesses(): ReadonlyMap<number, ProcessTime> {
  const processes = new Map<number, ProcessTime>();
  let entries: string[];
  try {
    entries = readdirSync('/proc');
  } catch {
    return processes;
  }
  for (const entry of entries) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, 'utf8');
      // The second field is the name in parentheses, which may contain anything; fields are counted after it.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      const at = (index: number): number => Number(fields[index]);
      processes.set(Number(entry), { parent: at(1), own: at(11) + at(12), ended: at(13) + at(14) });
    } catch {
      // It has ended meanwhile.
    }
  }
  return processes;
}
