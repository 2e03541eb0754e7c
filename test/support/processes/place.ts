import {
  kafka,
  type ReceivingTransport,
  type RocketmqOptions,
  rabbitmq,
  redisList,
  redisStream,
  rocketmq,
} from '../../../src/transports.ts';

/** A server and how to reach it, as another process can be told it. */
export type Place =
  | { readonly kind: 'kafka'; readonly servers: string }
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

export function transportAt(place: Place): ReceivingTransport {
  switch (place.kind) {
    case 'kafka':
      return kafka({ servers: place.servers });
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
