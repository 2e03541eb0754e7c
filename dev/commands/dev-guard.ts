import { createInterface } from 'node:readline';

/**
 * A program that `dev` starts beside its processes, and that ends these if `dev` itself was killed. Each line of its standard
 * input is the id of a process group that has begun, or its negative when it has ended; the end of the input is that of `dev`.
 */
const groups = new Set<number>();
const afterTermMs = 20_000;

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const group = Number(line);
    if (group > 0) groups.add(group);
    else groups.delete(-group);
  })
  .on('close', () => {
    // Only the first of a group, which passes it on: a second one would end a relay that is stopping.
    for (const group of groups) send(group, 'SIGTERM');
    const untilMs = performance.now() + afterTermMs;
    const looking = setInterval(() => {
      const signal = performance.now() < untilMs ? 0 : 'SIGKILL';
      if (![...groups].some((group) => send(-group, signal))) clearInterval(looking);
    }, 200);
  });

/** @returns false if the process or the group has ended */
function send(target: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(target, signal);
  } catch {
    return false;
  }
}
