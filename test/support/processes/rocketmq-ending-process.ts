import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { builtProgram } from './built-program.ts';

export interface RocketmqEndingSettings {
  readonly servers: readonly string[];
  readonly address: string;
  readonly group: string;
}

/** A process that has sent and received a message over RocketMQ. */
export interface RocketmqEnding {
  /** Lets it close everything; answers whether it has ended well by itself so many milliseconds after that. */
  endsWithin(ms: number): Promise<boolean>;
}

/** Starts it as a child process; resolves when the message has arrived. */
export async function startRocketmqEnding(settings: RocketmqEndingSettings): Promise<RocketmqEnding> {
  const child = spawn(process.execPath, [builtProgram('rocketmq-ending-main'), JSON.stringify(settings)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit').then(([code]) => code === 0);
  const lines = createInterface({ input: child.stdout });
  if ((await Promise.race([once(lines, 'line'), exited])) === false) throw new Error('It has failed.');
  return {
    async endsWithin(ms) {
      const closed = once(lines, 'line');
      child.stdin.write('end\n');
      await Promise.race([closed, exited]);
      const ended = await Promise.race([exited, delay(ms, false)]);
      child.kill('SIGKILL');
      return ended;
    },
  };
}
