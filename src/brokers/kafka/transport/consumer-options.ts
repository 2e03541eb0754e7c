import type { Duration } from '../../../core/duration.ts';
import { object, type Table } from '../../../core/options/collections.ts';
import type { Read } from '../../../core/options/reader.ts';
import { duration, optional, whole } from '../../../core/options/values.ts';
import { defaultConsumption, type KafkaConsumption } from '../client/consumption.ts';

/** How consumers take part in their Kafka group, and how much they fetch. The defaults fit most. */
export interface KafkaConsumerOptions {
  /**
   * A consumer that the broker has not heard for so long is out of its group, and its partitions go to others; 6 s to 30 min,
   * within the broker's `group.min.session.timeout.ms` and `group.max.session.timeout.ms`. A sign of life is sent every
   * second. Longer than the pauses of the process and its network; shorter, so that others take over sooner.
   * @defaultValue `'10s'`
   */
  readonly sessionTimeout?: Duration;
  /**
   * How long a rebalance waits for messages that are in hand, 6 s to 1 hour. A consumer that takes longer loses its
   * partitions; what its handler has written commits once all the same, because the inbox drops the repeat.
   * @defaultValue `'60s'`
   */
  readonly rebalanceTimeout?: Duration;
  /**
   * Bytes that one broker sends at once, 64 KiB to 256 MiB; of each broker a consumer holds one such answer in memory. A
   * batch of records that is larger by itself arrives all the same. @defaultValue 10 MiB
   */
  readonly maxFetchBytes?: number;
  /**
   * Bytes of one partition in such an answer, 64 KiB to 256 MiB. More let fewer answers do; less leave less to be fetched
   * again when handlers are slow. Below what one batch of records may have, a broker sends of one partition at a time.
   * @defaultValue `max.message.bytes` of the topics; 1 MiB where it may not be read
   */
  readonly maxPartitionBytes?: number;
}

const kib = 1_024;
const { maxFetchBytes, rebalanceTimeoutMs, sessionTimeoutMs } = defaultConsumption;

export const consumerOptions = object({
  sessionTimeout: duration('6s', '30 min', sessionTimeoutMs),
  rebalanceTimeout: duration('6s', '1 hour', rebalanceTimeoutMs),
  maxFetchBytes: whole(64 * kib, 256 * kib * kib, maxFetchBytes),
  maxPartitionBytes: optional(whole(64 * kib, 256 * kib * kib)),
} satisfies Table<KafkaConsumerOptions>);

/** The settings of {@link consumerOptions} as consumers take them. */
export function kafkaConsumption({
  rebalanceTimeout,
  sessionTimeout,
  ...bytes
}: Read<typeof consumerOptions>): KafkaConsumption {
  return { sessionTimeoutMs: sessionTimeout, rebalanceTimeoutMs: rebalanceTimeout, ...bytes };
}
