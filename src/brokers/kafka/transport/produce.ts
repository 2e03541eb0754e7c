import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { reasonOf } from '../../../core/reason.ts';
import type { OutgoingMessage } from '../../transport.ts';
import { platformaticKafka } from '../client/platformatic.ts';
import type { BrokerConnection } from './broker-connection.ts';
import type { Brokers } from './brokers.ts';
import { answerFailure, type KafkaFailure, lossFailure } from './failure.ts';
import { batchHeaderBytes, RecordBatchWriter, seal } from './record-batch.ts';
import type { RecordSizes } from './record-sizes.ts';
import type { TopicMetadata } from './topic-metadata.ts';
import { Unanswered } from './unanswered.ts';

/** Messages of one partition, to be stored as one record batch. */
export interface ProduceRequest {
  readonly address: string;
  readonly partition: number;
  readonly messages: readonly OutgoingMessage[];
  /** Which of the messages, in order. */
  readonly indexes: readonly number[];
  readonly sizes: RecordSizes;
  /** Compresses the batch in gzip. */
  readonly gzip: boolean;
}

/** Where the first message of a stored batch is; the others follow without a gap. */
export interface StoredAt {
  readonly kind: 'stored';
  readonly baseOffset: bigint;
}

const compress = promisify(gzip);

/** Sends record batches to the leaders of their partitions. */
export class BatchProducer {
  readonly #brokers: Brokers;
  readonly #metadata: TopicMetadata;
  #writer: RecordBatchWriter | undefined;

  constructor(brokers: Brokers, metadata: TopicMetadata) {
    this.#brokers = brokers;
    this.#metadata = metadata;
  }

  /** Sends one batch to one partition, once, and says what became of it, whatever the broker does. */
  async send(request: ProduceRequest): Promise<StoredAt | KafkaFailure> {
    const { address, partition } = request;
    let leader: BrokerConnection | undefined;
    try {
      leader = await this.#leader(address, partition);
    } catch (error) {
      // Metadata may be stale; nothing was sent.
      this.#metadata.forget(address);
      const scope = this.#brokers.connected ? 'topic' : 'transport';
      return { kind: 'hold', scope, stored: false, reason: reasonOf(error) };
    }
    if (leader === undefined) return withoutLeader(request);
    try {
      // Without a pause between the two: the memory of the batch is used again by the next one.
      const records = request.gzip ? await this.#compressed(request) : this.#encode(request);
      const { requestTimeoutMs: timeoutMs } = this.#brokers.settings;
      const answer = await leader.produce({ address, partition, records, timeoutMs });
      if (answer.code === 0) return { kind: 'stored', baseOffset: answer.baseOffset };
      const failure = answerFailure(answer);
      if (failure.kind === 'hold') this.#metadata.forget(address);
      return failure;
    } catch (error) {
      this.#metadata.forget(address);
      if (error instanceof Unanswered) return lossFailure(error, this.#brokers.connected);
      throw error;
    }
  }

  async #leader(address: string, partition: number): Promise<BrokerConnection | undefined> {
    const leader = await this.#metadata.leaderOf(address, partition);
    return leader === undefined ? undefined : this.#brokers.to(leader);
  }

  /** The batch holds until the next call; a connection copies it when it sends it. */
  #encode({ messages, indexes, sizes }: ProduceRequest): Buffer {
    this.#writer ??= new RecordBatchWriter(platformaticKafka().crc32c);
    return this.#writer.write(messages, indexes, sizes, Date.now());
  }

  async #compressed(request: ProduceRequest): Promise<Buffer> {
    const batch = Buffer.from(this.#encode(request));
    const records = await compress(batch.subarray(batchHeaderBytes));
    const compressed = Buffer.concat([batch.subarray(0, batchHeaderBytes), records]);
    seal(compressed, { gzip: true, crc32c: platformaticKafka().crc32c });
    return compressed;
  }
}

function withoutLeader({ address, partition }: ProduceRequest): KafkaFailure {
  return {
    kind: 'hold',
    reason: `Partition ${partition} of topic ${address} has no leader now, does not exist or may not be written to.`,
    scope: 'topic',
    stored: false,
  };
}
