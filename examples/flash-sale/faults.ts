import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

/** What befalls the consumer of the purchases, one process after the other: with which of its orders, and where. */
export const faults = [
  { order: 100, where: 'killed before the commit' },
  { order: 100, where: 'killed after the commit' },
  { order: 100, where: 'killed before the commit' },
  { order: 50, where: 'error' },
] as const;
export type Fault = (typeof faults)[number];

/** Starts the program for each fault, the next one when the last was killed. Answers the process that is left. */
export async function startWithFaults(program: string): Promise<ChildProcess> {
  for (const [number, fault] of faults.entries()) {
    const child = fork(new URL(program, import.meta.url), [String(number)]);
    if (fault.where === 'error') return child;
    const [code, signal] = await once(child, 'exit');
    if (signal !== 'SIGKILL') throw new Error(`${program} was not killed, but ended with ${code ?? signal}.`);
  }
  throw new Error('The last fault is one that ends no process.');
}

/** The fault of this process, which ends with the one that has started it. */
export function ownFault(): Fault {
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM')).channel?.unref();
  const fault = faults[Number(process.argv[2])];
  if (fault === undefined) throw new Error('This program is started by main.ts.');
  return fault;
}
