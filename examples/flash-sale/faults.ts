import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

/** What befalls a consumer of the purchases: with which of its orders, counted from 1, and where. */
export interface Fault {
  readonly order: number;
  readonly where:
    | 'killed before the commit'
    | 'killed after the commit'
    | 'error'
    | 'error, after it was held up'
    | 'nowhere';
}

/** What befalls it in the rush, one process after the other. */
const faults: readonly Fault[] = [
  { order: 100, where: 'killed before the commit' },
  { order: 100, where: 'killed after the commit' },
  { order: 100, where: 'killed before the commit' },
  { order: 10, where: 'error' },
];

/** Starts a consumer of a sale that will meet this fault. */
export const start = (program: string, fault: Fault, voucherId: string): ChildProcess =>
  fork(new URL(program, import.meta.url), [JSON.stringify(fault), voucherId]);

/** Starts the program for each fault of the rush, the next one when the last was killed. Answers the process that is left. */
export async function startWithFaults(program: string, voucherId: string): Promise<ChildProcess> {
  for (const fault of faults) {
    const child = start(program, fault, voucherId);
    if (fault.where === 'error') return child;
    const [code, signal] = await once(child, 'exit');
    if (signal !== 'SIGKILL') throw new Error(`${program} was not killed, but ended with ${code ?? signal}.`);
  }
  throw new Error('The last fault is one that ends no process.');
}

/** What the process tells next. */
export async function next(child: ChildProcess): Promise<unknown> {
  const [message] = await once(child, 'message');
  return message;
}

export async function stop(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}

/** The fault of this process, which ends with the one that has started it. */
export function ownFault(): Fault {
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM')).channel?.unref();
  const [, , fault] = process.argv;
  if (fault === undefined) throw new Error('This program is started by main.ts.');
  return JSON.parse(fault);
}
