import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { kinds } from './kinds.ts';

export async function until(condition: () => Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 60_000; !(await condition()); await delay(20))
    if (Date.now() > deadline) throw new Error(`Waited in vain: ${condition}`);
}

/** Where a consumer is killed, and with which message in hand. */
export type Fault = 'before the effect 50' | 'before the acknowledgement 150' | 'none';

/** Starts a consumer that will meet the fault; resolves when it receives. */
export async function start(program: string, fault: Fault): Promise<ChildProcess> {
  const child = fork(new URL(program, import.meta.url), [fault]);
  await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => Promise.reject(new Error(`${program} has ended.`))),
  ]);
  return child;
}

/** In a consumer: tells the story that it receives. It ends with the story. */
export function started(): void {
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM')).channel?.unref();
  process.send?.('started');
}

let arrived = 0;

/** In a consumer: kills it once the messages of this number have come here by list, channel and stream. */
export async function meet(
  where: 'before the effect' | 'before the acknowledgement',
  number: number,
): Promise<void> {
  if (process.argv[2] !== `${where} ${number}`) return;
  arrived += 1;
  if (arrived === kinds.length) process.kill(process.pid, 'SIGKILL');
  await new Promise(() => {});
}
