import type { RocketmqOptions } from '../../../src/transports.ts';
import { type Crash, runDoomed } from './doomed-process.ts';

export interface RocketmqConsumerSettings {
  readonly options: Pick<RocketmqOptions, 'invisibleTime'> & {
    readonly endpoints: string;
    readonly accessKey: string;
    readonly secretKey: string;
  };
  readonly databaseUrl: string;
  readonly address: string;
  readonly group: string;
  readonly crash: Crash;
}

/** Runs a consumer of RocketMQ as a child process until it has ended; answers the signal that ended it. */
export function runRocketmqConsumer(settings: RocketmqConsumerSettings): Promise<NodeJS.Signals | null> {
  return runDoomed('rocketmq-consumer-main', settings);
}
