import { createHash, randomUUID } from 'node:crypto';
import type { Consumer, KafkaMessage } from 'kafkajs';
import type {
  DeliveryLog,
  LogExcerpt,
  LogRange,
  LogReader,
  LogRecord,
  LogStretch,
} from '../../../core/delivery-log.ts';
import { askBrokers } from './ask-brokers.ts';
import { BatchChannel, logUnavailable } from './batch-channel.ts';
import { readEveryCodec } from './codecs.ts';
import { type KafkaConnection, kafkaClient } from './connection.ts';
import { headerText, keyText } from './record-text.ts';

const fetchBytesPerPartition = 1_048_576;
/** A broker that has just started may refuse the first join. */
const maxJoins = 3;

/**
 * Reads the log of Kafka topics, from a time to where they end when it is opened.
 *
 * It joins a group of its own, which never commits an offset and disappears afterwards, so consumers are not affected.
 */
export function kafkaLog(connection: KafkaConnection): LogReader {
  return {
    async open(addresses, since) {
      const ranges = await Promise.all(addresses.map((address) => rangesOf(connection, address, since)));
      return logOf(connection, ranges.flat());
    },
    excerpt: (address, stretches) => excerptOf(connection, address, stretches),
  };
}

async function excerptOf(
  connection: KafkaConnection,
  address: string,
  stretches: readonly LogStretch[],
): Promise<LogExcerpt> {
  const ranges = await rangesOf(connection, address, null);
  const asked = stretches.flatMap(({ partition, from, count }): readonly LogRange[] => {
    const whole = ranges.find((range) => range.partition === partition);
    if (whole === undefined) return [];
    const [first, end] = [BigInt(from), BigInt(from) + BigInt(count)];
    const low = first > BigInt(whole.from) ? first : BigInt(whole.from);
    const high = end < BigInt(whole.to) ? end : BigInt(whole.to);
    return [{ ...whole, from: String(low), to: String(high) }];
  });
  const records: LogRecord[] = [];
  for await (const some of readRanges(connection, asked)) records.push(...some);
  return { ranges, records };
}

async function rangesOf(
  connection: KafkaConnection,
  address: string,
  since: Date | null,
): Promise<readonly LogRange[]> {
  const { ends, starts } = await askBrokers(connection, async (admin) => ({
    ends: await admin.fetchTopicOffsets(address),
    starts: since === null ? [] : await admin.fetchTopicOffsetsByTimestamp(address, since.getTime()),
  })).catch((cause: unknown) => {
    throw logUnavailable(`Kafka topic ${address} could not be inspected`, cause);
  });
  const startOf = new Map(starts.map(({ partition, offset }) => [partition, offset]));
  return ends.map(({ partition, low, high }) => {
    const wanted = BigInt(startOf.get(partition) ?? low);
    // If no record is that new, Kafka returns -1 or the end.
    const from = wanted < 0n ? high : String(wanted);
    return { address, partition, from, to: high, truncated: from === low && BigInt(low) > 0n };
  });
}

function logOf(connection: KafkaConnection, ranges: readonly LogRange[]): DeliveryLog {
  return { ranges, records: () => readRanges(connection, ranges) };
}

async function* readRanges(
  connection: KafkaConnection,
  ranges: readonly LogRange[],
): AsyncGenerator<readonly LogRecord[]> {
  const open = new Map(
    ranges
      .filter(({ from, to }) => BigInt(from) < BigInt(to))
      .map((range) => [`${range.address}/${range.partition}`, range]),
  );
  if (open.size === 0) return;
  const hand = new BatchChannel();
  const consumer = await join(connection, [...open.values()], hand);
  try {
    while (open.size > 0) {
      const batch = await hand.take();
      const name = `${batch.address}/${batch.partition}`;
      const range = open.get(name);
      if (range === undefined) continue;
      const isInside = ({ offset }: LogRecord): boolean =>
        BigInt(offset) >= BigInt(range.from) && BigInt(offset) < BigInt(range.to);
      yield batch.records.filter(isInside);
      const next = BigInt(batch.lastOffset) + 1n;
      if (next >= BigInt(range.to)) {
        open.delete(name);
        consumer.pause([{ topic: batch.address, partitions: [batch.partition] }]);
      } else if (next > BigInt(range.from)) {
        // Records that were fetched before the seek and are fetched again are not read twice.
        open.set(name, { ...range, from: String(next) });
      }
    }
  } finally {
    hand.end();
    await consumer.disconnect().catch(() => undefined);
  }
}

/** Joins a group of its own, with a new client at every try: kafkajs forgets the seek when it restarts by itself. */
async function join(
  connection: KafkaConnection,
  ranges: readonly LogRange[],
  hand: BatchChannel,
): Promise<Consumer> {
  for (let tries = 1; ; tries += 1) {
    const consumer = consumerOf(connection);
    try {
      await begin(consumer, ranges, hand);
      return consumer;
    } catch (cause) {
      await consumer.disconnect().catch(() => undefined);
      if (tries === maxJoins) throw logUnavailable('The log could not be read', cause);
    }
  }
}

async function begin(consumer: Consumer, ranges: readonly LogRange[], hand: BatchChannel): Promise<void> {
  const crashed = new Promise<{ readonly error: unknown }>((resolve) => {
    consumer.on('consumer.crash', ({ payload }) => resolve(payload));
  });
  await consumer.connect();
  await consumer.subscribe({
    topics: [...new Set(ranges.map(({ address }) => address))],
    fromBeginning: true,
  });
  const running = consumer.run({
    autoCommit: false,
    eachBatch: (payload) => {
      const { topic, partition, messages } = payload.batch;
      return hand.give(
        {
          address: topic,
          partition,
          lastOffset: payload.batch.lastOffset(),
          records: messages.map((message) => recordOf(topic, partition, message)),
        },
        () => payload.heartbeat(),
      );
    },
  });
  // `run` resolves even if the join failed, but the crash event comes first.
  const failure = await Promise.race([running.then(() => undefined), crashed]);
  if (failure !== undefined) throw failure.error;
  for (const { address, partition, from } of ranges)
    consumer.seek({ topic: address, partition, offset: from });
  void crashed.then(({ error }) => hand.fail(error));
}

function recordOf(address: string, partition: number, record: KafkaMessage): LogRecord {
  const { offset, key, value, headers, timestamp } = record;
  return {
    address,
    partition,
    offset,
    key: keyText(key),
    at: new Date(Number(timestamp)),
    id: headerText(headers, 'ce_id') ?? null,
    source: headerText(headers, 'ce_source') ?? null,
    type: headerText(headers, 'ce_type') ?? null,
    payloadHash: createHash('sha256')
      .update(value ?? '')
      .digest('hex'),
  };
}

function consumerOf(connection: KafkaConnection): Consumer {
  readEveryCodec();
  return kafkaClient(connection).consumer({
    groupId: `outbox-verify-${randomUUID()}`,
    allowAutoTopicCreation: false,
    maxBytesPerPartition: fetchBytesPerPartition,
    maxWaitTimeInMs: 250,
    retry: { restartOnFailure: async () => false },
  });
}
