import { partitionOf } from '../../partitioning.ts';
import type { ReceivingTransport } from '../../receiving-transport.ts';
import type { Hold, OutgoingBatch, PublishOutcome, PublishResult, Transport } from '../../transport.ts';
import { kafkaOffsets } from '../client/committed-offsets.ts';
import type { KafkaConnection } from '../client/connection.ts';
import { kafkajs } from '../client/kafkajs.ts';
import { kafkaLog } from '../client/log.ts';
import { platformaticKafka } from '../client/platformatic.ts';
import { rewindKafkaGroup } from '../client/rewind-group.ts';
import { kafkaTopics } from '../client/topics.ts';
import { kafkaSource } from '../source/kafka-source.ts';
import type { Reach } from './broker-address.ts';
import { Brokers } from './brokers.ts';
import { Doubts } from './doubts.ts';
import { examineKafka } from './examine-kafka.ts';
import { type KafkaOptions, kafkaConnection } from './kafka-options.ts';
import { sendPartition } from './partition-send.ts';
import { BatchProducer } from './produce.ts';
import { recordSizes } from './record-sizes.ts';
import { countPartitions, probeTopic, TopicMetadata, topicUnavailable } from './topic-metadata.ts';
import { TopicSettings } from './topic-settings.ts';

/** Kafka's transport, with how it connects. */
export type KafkaTransport = Transport &
  Required<
    Pick<Transport, 'source' | 'topics' | 'offsets' | 'deliveryLog' | 'examine' | 'partitionCount'>
  > & {
    readonly connection: KafkaConnection;
  };

/**
 * Delivers to Kafka topics, one record batch per partition and chunk, acknowledged by all in-sync replicas.
 *
 * Keys choose partitions as Kafka's default partitioner does (murmur2); a message without a key goes by its id. Topics
 * are never created. At least once: what was on its way when a broker failed answers `deferred` with `onWire`, and the
 * relay sends it again; a partition that leaves one request after the other in doubt rests in between, up to a minute.
 *
 * A partition without a leader, and a topic that was deleted or forbidden, hold only their own messages. Connections
 * open at the first batch and close after 30 s without one.
 *
 * @throws {@link OutboxError} `OUTBOX_OPTION_INVALID`; `OUTBOX_PACKAGE_MISSING` without kafkajs.
 */
export function kafka(options: KafkaOptions): ReceivingTransport {
  return kafkaTransport(options);
}

/** {@link kafka}, with how it connects. */
export function kafkaTransport(options: KafkaOptions): KafkaTransport {
  const settings = kafkaConnection(options);
  kafkajs();
  return kafkaOver(settings);
}

/** {@link kafka} with a choice of where brokers are reached, which is where tests cut and delay connections. */
export function kafkaOver(settings: KafkaConnection, reach?: Reach): KafkaTransport {
  const brokers = new Brokers(settings, reach);
  const producer = new BatchProducer(brokers, new TopicMetadata(brokers));
  const topics = new TopicSettings(brokers);
  const doubts = new Doubts();
  const running = new Set<Promise<PublishResult>>();
  return {
    name: 'kafka',
    connection: settings,
    get endpoint() {
      return settings.servers.join(',');
    },
    tls: () => settings.tls,
    source: () => kafkaSource(settings),
    topics: kafkaTopics(settings),
    offsets: kafkaOffsets(settings),
    rewindGroup: (how) => rewindKafkaGroup(settings, how),
    deliveryLog: kafkaLog(settings),
    examine: (asked) => examineKafka(settings, asked),
    // A third of a second, in which the process does nothing else.
    prepare: () => void platformaticKafka(),
    async publish(batch) {
      const result = publish({ producer, topics, doubts }, batch);
      running.add(result);
      return result.finally(() => running.delete(result));
    },
    async probe(address) {
      const rest = doubts.restIn(address);
      if (rest !== undefined) throw topicUnavailable(address, rest.reason);
      await probeTopic(brokers, address);
    },
    partitionCount: (address) => countPartitions(brokers, address),
    async close() {
      await Promise.allSettled(running);
      await topics.settled();
      brokers.close();
    },
  };
}

/** What every entry holds until its partition has filled it in. */
const unsettled: PublishOutcome = { kind: 'deferred', onWire: false };

interface Parts {
  readonly producer: BatchProducer;
  readonly topics: TopicSettings;
  readonly doubts: Doubts;
}

async function publish(
  { producer, topics, doubts }: Parts,
  { address, partitions, messages, signal }: OutgoingBatch,
): Promise<PublishResult> {
  if (messages.length === 0) return { outcomes: [] };
  const { gzip, maxBytes } = await topics.of(address);
  const outcomes: PublishOutcome[] = Array.from(messages, () => unsettled);
  const sizes = recordSizes(messages);
  const batch = {
    maxBytes,
    messages,
    sizes,
    outcomes,
    async send(partition: number, some: readonly number[]) {
      const result = await producer.send({ address, partition, messages, indexes: some, sizes, gzip });
      if (result.kind === 'hold' && result.stored) doubts.add(address, partition, result.reason);
      // If nothing was sent before the hold, the partition's doubts remain.
      else if (result.kind !== 'hold') doubts.clear(address, partition);
      return result;
    },
    signal,
  };
  const holds = await Promise.all(
    [...indexesByPartition(messages, partitions)].map(
      async ([partition, indexes]) =>
        doubts.restOf(address, partition) ?? sendPartition(batch, partition, indexes),
    ),
  );
  const hold = widest(
    holds.flatMap((one) => one ?? []),
    outcomes,
  );
  return hold === undefined ? { outcomes } : { outcomes, hold };
}

function indexesByPartition(messages: OutgoingBatch['messages'], partitions: number): Map<number, number[]> {
  const indexes = new Map<number, number[]>();
  for (const [index, { key, id }] of messages.entries()) {
    const partition = partitionOf(key ?? id, partitions);
    const known = indexes.get(partition);
    if (known === undefined) indexes.set(partition, [index]);
    else known.push(index);
  }
  return indexes;
}

/** A transport that delivered some of the batch is not down, whatever one of its brokers is. */
function widest(holds: readonly Hold[], outcomes: readonly PublishOutcome[]): Hold | undefined {
  const hold = holds.find(({ scope }) => scope === 'transport') ?? holds[0];
  if (hold?.scope !== 'transport' || !outcomes.some(({ kind }) => kind === 'acknowledged')) return hold;
  return { ...hold, scope: 'topic' };
}
