import { type Crash, runDoomed } from './doomed-process.ts';

export interface RabbitmqConsumerSettings {
  readonly url: string;
  readonly databaseUrl: string;
  readonly address: string;
  readonly group: string;
  readonly crash: Crash;
}

/** Runs a consumer of RabbitMQ as a child process until it exits; returns the signal that ended it. */
export function runRabbitmqConsumer(settings: RabbitmqConsumerSettings): Promise<NodeJS.Signals | null> {
  return runDoomed('rabbitmq-consumer-main', settings);
}
