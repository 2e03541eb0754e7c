import { type Crash, runDoomed } from './doomed-process.ts';

export interface ConsumerProcessSettings {
  readonly url: string;
  readonly brokers: string;
  readonly address: string;
  readonly group: string;
  /** Uses transactions of a `pg` pool. @defaultValue of Prisma */
  readonly byPool?: boolean;
  readonly crash: Crash;
}

/** Runs a consumer as a child process until it exits; returns the signal that ended it. */
export function runConsumerProcess(settings: ConsumerProcessSettings): Promise<NodeJS.Signals | null> {
  return runDoomed('consumer-main', settings);
}
