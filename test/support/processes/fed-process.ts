import { type Crash, type DoomedProcess, runDoomed, startDoomed } from './doomed-process.ts';
import type { FedMessage, FedSettings } from './fed-consumer.ts';

export interface FedProcessSettings
  extends Pick<
    FedSettings,
    | 'group'
    | 'quickRetries'
    | 'retry'
    | 'temporalAddress'
    | 'batch'
    | 'maxKills'
    | 'inBatches'
    | 'transactionTimeout'
  > {
  readonly url: string;
  /** The messages of its broker in memory. */
  readonly feeds: readonly FedMessage[];
  /** Instead of that: a RabbitMQ, whose queue all consumers of the group share. */
  readonly rabbitmqUrl?: string;
  /** The message whose handler throws, or all of them, and how often. @defaultValue once */
  readonly failing?: number | 'all';
  readonly failures?: number;
  /** The message whose handler kills the process. */
  readonly deadly?: number;
  /** Messages with slow handlers; the process is killed when all of them are in hand, or after two seconds. */
  readonly lingering?: readonly number[];
  /** How long those handlers take. @defaultValue forever */
  readonly laneIdleTimeoutMs?: number;
  readonly crash?: Crash;
}

/** Starts a consumer as a child process. */
export function startFedProcess(settings: FedProcessSettings): DoomedProcess {
  return startDoomed('fed-main', settings);
}

/** Runs a consumer as a child process until it exits; returns the signal that ended it. */
export function runFedProcess(settings: FedProcessSettings): Promise<NodeJS.Signals | null> {
  return runDoomed('fed-main', settings);
}
