import { type Duration, durationMs } from '../../../core/duration.ts';
import { OutboxError } from '../../../core/errors.ts';
import { unknownOption } from '../../../core/options/option-names.ts';
import { toldValue } from '../../../core/options/told-value.ts';
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

const optionNames: readonly (keyof KafkaConsumerOptions)[] = [
  'sessionTimeout',
  'rebalanceTimeout',
  'maxFetchBytes',
  'maxPartitionBytes',
];

const minTimeoutMs = 6_000;
const maxSessionMs = 30 * 60_000;
const maxRebalanceMs = 60 * 60_000;
const minBytes = 64 * 1024;
const maxBytes = 256 * 1024 * 1024;

/**
 * Checks the options and fills in the defaults.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID`
 */
export function kafkaConsumption(options: KafkaConsumerOptions = {}): KafkaConsumption {
  const given: unknown = options;
  if (typeof given !== 'object' || given === null) throw invalid('consumers', 'must be an object', given);
  const unknown = unknownOption(options, optionNames);
  if (unknown !== undefined) throw invalid(`consumers.${unknown}`, 'is unknown', undefined);
  const { maxFetchBytes, maxPartitionBytes, rebalanceTimeout, sessionTimeout } = options;
  const { maxFetchBytes: fetchBytes, rebalanceTimeoutMs, sessionTimeoutMs } = defaultConsumption;
  return {
    sessionTimeoutMs: timeout('sessionTimeout', sessionTimeout ?? sessionTimeoutMs, maxSessionMs, '30 min'),
    rebalanceTimeoutMs: timeout(
      'rebalanceTimeout',
      rebalanceTimeout ?? rebalanceTimeoutMs,
      maxRebalanceMs,
      '1 hour',
    ),
    maxFetchBytes: bytes('maxFetchBytes', maxFetchBytes ?? fetchBytes),
    maxPartitionBytes:
      maxPartitionBytes === undefined ? undefined : bytes('maxPartitionBytes', maxPartitionBytes),
  };
}

function timeout(option: keyof KafkaConsumerOptions, given: Duration, max: number, inWords: string): number {
  const value = durationMs(given);
  if (value !== undefined && value >= minTimeoutMs && value <= max) return Math.round(value);
  throw invalid(`consumers.${option}`, `must be 6 s to ${inWords}`, given);
}

function bytes(option: keyof KafkaConsumerOptions, given: number): number {
  if (Number.isInteger(given) && given >= minBytes && given <= maxBytes) return given;
  throw invalid(`consumers.${option}`, 'must be an integer from 64 KiB to 256 MiB', given);
}

function invalid(option: string, what: string, value: unknown): OutboxError {
  return new OutboxError('OUTBOX_OPTION_INVALID', `The option \`${option}\` of kafka() ${what}.`, {
    details: { option, ...toldValue(value) },
  });
}
