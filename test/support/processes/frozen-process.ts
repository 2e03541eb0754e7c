import { readdir, readFile } from 'node:fs/promises';
import { until } from '../fixtures/until.ts';

/**
 * Stops a process with SIGSTOP and resolves when none of its threads runs anymore: the signal takes effect
 * asynchronously, and a thread on another CPU may still answer a request. Continue the process with SIGCONT.
 */
export async function freeze(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  // Only Linux reports the state of each thread.
  if (process.platform === 'linux') await until(async () => (await running(pid)) === 0);
}

/** Number of threads of a process that are not stopped. */
async function running(pid: number): Promise<number> {
  const folder = `/proc/${pid}/task`;
  const stats = await Promise.all(
    (await readdir(folder)).map((thread) => readFile(`${folder}/${thread}/stat`, 'utf8')),
  );
  // The name in parentheses may itself contain spaces and parentheses.
  return stats.filter((stat) => stat.slice(stat.lastIndexOf(')') + 2).split(' ')[0] !== 'T').length;
}
