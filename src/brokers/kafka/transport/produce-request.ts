import type * as PlatformaticKafka from '@platformatic/kafka';
import { platformaticKafka } from '../client/platformatic.ts';

/** One record batch for one partition. */
export interface ProduceBatch {
  readonly address: string;
  readonly partition: number;
  readonly records: Buffer;
  /** How long the leader may wait for its replicas. */
  readonly timeoutMs: number;
}

/** What a broker answers about a partition. */
export interface ProduceAnswer {
  readonly address: string;
  readonly partition: number;
  /** 0: stored. */
  readonly code: number;
  readonly baseOffset: bigint;
  /** What the broker says beyond the code. */
  readonly message: string | null;
}

/** What a broker answers to a request. */
export interface ProduceReply {
  readonly answers: readonly ProduceAnswer[];
  /** A quota is exceeded: for this long the broker reads nothing more from this connection. */
  readonly throttledMs: number;
}

type ProduceApi = PlatformaticKafka.API<[readonly ProduceBatch[]], ProduceReply>;

const produceKey = 0;
/** Understood by Kafka 2.4 and later, and the first version whose answers say which record is wrong. */
const produceVersion = 8;
const allInSyncReplicas = -1;

let produceMade: ProduceApi | undefined;

/**
 * Produce, for batches of different partitions that are already encoded. The client's own encodes messages, and throws on
 * refusals.
 */
export function produceApi(): ProduceApi {
  produceMade ??= platformaticKafka().createAPI<[readonly ProduceBatch[]], ProduceReply>(
    produceKey,
    produceVersion,
    writeRequest,
    (_id, _key, _version, reader) => readReply(reader),
    false,
    false,
  );
  return produceMade;
}

function writeRequest(batches: readonly ProduceBatch[]): PlatformaticKafka.Writer {
  const addresses = new Set(batches.map(({ address }) => address));
  const writer = platformaticKafka()
    .Writer.create()
    .appendString(null, false)
    .appendInt16(allInSyncReplicas)
    .appendInt32(Math.max(...batches.map(({ timeoutMs }) => timeoutMs)))
    .appendInt32(addresses.size);
  for (const address of addresses) {
    const partitions = batches.filter((batch) => batch.address === address);
    writer.appendString(address, false).appendInt32(partitions.length);
    for (const { partition, records } of partitions)
      writer.appendInt32(partition).appendInt32(records.length).append(records);
  }
  return writer;
}

function readReply(reader: PlatformaticKafka.Reader): ProduceReply {
  const answers: ProduceAnswer[] = [];
  for (let topics = reader.readInt32(); topics > 0; topics -= 1) {
    const address = reader.readString(false);
    for (let partitions = reader.readInt32(); partitions > 0; partitions -= 1)
      answers.push(readAnswer(reader, address));
  }
  return { answers, throttledMs: reader.readInt32() };
}

function readAnswer(reader: PlatformaticKafka.Reader, address: string): ProduceAnswer {
  const partition = reader.readInt32();
  const code = reader.readInt16();
  const baseOffset = reader.readInt64();
  // When it was appended, and where the log begins.
  reader.readInt64();
  reader.readInt64();
  const blamed: string[] = [];
  for (let records = reader.readInt32(); records > 0; records -= 1) {
    reader.readInt32();
    const why = reader.readNullableString(false);
    if (why !== null) blamed.push(why);
  }
  return {
    address,
    partition,
    code,
    baseOffset,
    message: reader.readNullableString(false) ?? blamed[0] ?? null,
  };
}
