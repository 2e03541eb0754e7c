import { env } from 'temporal-outbox';
import { kafka, rocketmq, type Transport } from 'temporal-outbox/transports';

/** Kafka, or RocketMQ with `BROKER=rocketmq`. */
export const overRocketmq = process.env['BROKER'] === 'rocketmq';

/** A connection to it. A killed consumer keeps what it had in hand for the shortest time that the broker allows. */
export const connect = (): Transport =>
  overRocketmq
    ? rocketmq({
        servers: env('ROCKETMQ_ENDPOINTS'),
        nameServers: env('ROCKETMQ_NAME_SERVERS'),
        invisibleTime: '10s',
      })
    : kafka({ servers: env('KAFKA_BROKERS'), consumers: { sessionTimeout: '6s' } });
