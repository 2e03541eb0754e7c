import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { builtProgram } from './built-program.ts';

/** For closing and ending: what a busy machine may take is no sign of anything. */
const mostMs = 90_000;

export interface RocketmqEndingSettings {
  readonly servers: readonly string[];
  readonly address: string;
  readonly group: string;
}

/** A process that has sent and received a message over RocketMQ. */
export interface RocketmqEnding {
  /** Lets it close everything; answers whether it then ends well by itself, having waited no longer than that. */
  endsWithin(ms: number): Promise<boolean>;
}

/** Starts it as a child process; resolves when the message has arrived. */
export async function startRocketmqEnding(settings: RocketmqEndingSettings): Promise<RocketmqEnding> {
  const child = spawn(process.execPath, [builtProgram('rocketmq-ending-main'), JSON.stringify(settings)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  // Only at its close everything that it has written is read.
  const exited = once(child, 'close').then(([code]) => code === 0);
  const lines = createInterface({ input: child.stdout });
  let last = '';
  lines.on('line', (line) => (last = line));
  if ((await Promise.race([once(lines, 'line'), exited])) === false) throw new Error('It has failed.');
  return {
    async endsWithin(ms) {
      child.stdin.write('end\n');
      const ended = await Promise.race([exited, delay(mostMs, false, { ref: false })]);
      child.kill('SIGKILL');
      const waitedMs = Number(/^waited (\d+) ms$/.exec(last)?.[1]);
      return ended && waitedMs < ms;
    },
  };
}
