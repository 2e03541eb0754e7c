import {
  type ReceivingTransport,
  type RocketmqOptions,
  rabbitmq,
  redisList,
  redisStream,
  rocketmq,
} from '../../../src/transports.ts';
import { type Crash, runDoomed } from './doomed-process.ts';

/** A server and how to reach it, as another process can be told it. */
export type Place =
  | { readonly kind: 'rabbitmq' | 'redis-list'; readonly url: string }
  | { readonly kind: 'redis-stream'; readonly url: string; readonly order?: boolean }
  | {
      readonly kind: 'rocketmq';
      readonly options: Pick<RocketmqOptions, 'invisibleTime'> & {
        readonly servers: string;
        readonly accessKey: string;
        readonly secretKey: string;
      };
    };

export interface KilledConsumerSettings {
  readonly databaseUrl: string;
  readonly place: Place;
  readonly address: string;
  readonly group: string;
  readonly crash: Crash;
}

export function transportAt(place: Place): ReceivingTransport {
  switch (place.kind) {
    case 'rabbitmq':
      return rabbitmq({ url: place.url });
    case 'redis-stream':
      return redisStream({ url: place.url, order: place.order ?? true });
    case 'redis-list':
      return redisList({ url: place.url });
    case 'rocketmq':
      return rocketmq(place.options);
  }
}

/** Runs a consumer as a child process until it exits; returns the signal that ended it. */
export function runKilledConsumer(settings: KilledConsumerSettings): Promise<NodeJS.Signals | null> {
  return runDoomed('killed-consumer-main', settings);
}
