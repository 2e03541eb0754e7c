import { readdir, readFile } from 'node:fs/promises';
import { until } from '../fixtures/until.ts';

/**
 * Stops a process with SIGSTOP and resolves when none of its threads runs any more: the signal only asks for that, and
 * a thread that runs on another processor may still answer a request. Let it go on with SIGCONT.
 */
export async function freeze(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  // Only Linux tells the state of each thread.
  if (process.platform === 'linux') await until(async () => (await running(pid)) === 0);
}

/** How many threads of a process are not stopped. */
async function running(pid: number): Promise<number> {
  const folder = `/proc/${pid}/task`;
  const stats = await Promise.all(
    (await readdir(folder)).map((thread) => readFile(`${folder}/${thread}/stat`, 'utf8')),
  );
  // The name in brackets may itself hold blanks and brackets.
  return stats.filter((stat) => stat.slice(stat.lastIndexOf(')') + 2).split(' ')[0] !== 'T').length;
}
