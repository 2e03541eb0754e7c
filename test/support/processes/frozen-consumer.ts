import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { ConsumerEvent } from '../../../src/inbox/consumer-event.ts';
import { builtProgram } from './built-program.ts';

export interface FrozenConsumerSettings {
  readonly url: string;
  readonly brokers: string;
  readonly address: string;
  readonly group: string;
  /** Written with each of its effects. */
  readonly name: string;
  /** The number of commits after which it sends itself the signal, in the middle of its work. */
  readonly stopAt: { readonly commits: number; readonly signal: 'SIGKILL' | 'SIGSTOP' };
}

/** A consumer in a separate process that stops itself between the commit of an effect and that of its offset. */
export interface FrozenConsumer {
  readonly pid: number;
  readonly events: readonly Pick<ConsumerEvent, 'type'>[];
  /** Resolves when the process has exited. */
  readonly exited: Promise<unknown>;
  thaw(): void;
  /** Kills it if it still runs, and waits for its exit. */
  end(): Promise<void>;
}

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** Starts it without waiting for it to join its group. */
export function startFrozenConsumer(settings: FrozenConsumerSettings): FrozenConsumer {
  const child = spawn(process.execPath, [builtProgram('frozen-consumer-main'), JSON.stringify(settings)], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const events: Pick<ConsumerEvent, 'type'>[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line.startsWith('{')) events.push(JSON.parse(line) as Pick<ConsumerEvent, 'type'>);
  });
  return {
    pid: child.pid ?? 0,
    events,
    exited,
    thaw: () => void child.kill('SIGCONT'),
    async end() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await exited;
    },
  };
}
