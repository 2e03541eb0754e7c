import { type ReceivingTransport, redisList, redisStream } from '../../../src/transports.ts';
import { type Crash, runDoomed } from './doomed-process.ts';

/** The kind of queue at the address. */
export type RedisKind = 'stream' | 'list';

export interface RedisConsumerSettings {
  /** Connection string of the database. */
  readonly url: string;
  readonly redisUrl: string;
  readonly kind: RedisKind;
  readonly address: string;
  readonly group: string;
  readonly crash: Crash;
}

export function redisTransport(kind: RedisKind, url: string): ReceivingTransport {
  return kind === 'stream' ? redisStream({ url }) : redisList({ url });
}

/** Runs a consumer as a child process until it exits; returns the signal that ended it. */
export function runRedisConsumer(settings: RedisConsumerSettings): Promise<NodeJS.Signals | null> {
  return runDoomed('redis-consumer-main', settings);
}
