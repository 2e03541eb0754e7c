import { ByteReader } from './byte-reader.ts';
import { endOfBatch, FetchedRecord, type RecordContext } from './fetched-record.ts';
import { kafkajs } from './kafkajs.ts';

/** An answer to a fetch, with kafkajs' names. */
export interface FetchResponse {
  readonly throttleTime: number;
  readonly clientSideThrottleTime: number;
  readonly errorCode: number;
  readonly sessionId: number;
  readonly responses: readonly FetchedTopic[];
}

interface FetchedTopic {
  readonly topicName: string;
  readonly partitions: readonly FetchedPartition[];
}

interface FetchedPartition {
  readonly partition: number;
  readonly errorCode: number;
  readonly highWatermark: string;
  readonly lastStableOffset: string;
  readonly lastStartOffset: string;
  readonly abortedTransactions: readonly { readonly producerId: string; readonly firstOffset: string }[];
  readonly preferredReadReplica: number;
  readonly messages: readonly FetchedRecord[];
}

/** The version of the protocol that is read here, and that kafkajs 2.2 asks every broker since Kafka 2.3 for. */
export const fetchVersion = 11;

/** A batch is of a format before Kafka 0.11. */
export class OldFormat extends Error {}

/** The messages of answers that end before their partition does. kafkajs passes the arrays on, and nothing beside them. */
const cutAnswers = new WeakSet<object>();

/**
 * Whether the broker had more for this answer than it may hold. False if kafkajs has read it.
 *
 * @param messages of one partition, the array that the answer has
 */
export function isCut(messages: unknown): boolean {
  return typeof messages === 'object' && messages !== null && cutAnswers.has(messages);
}

/** Bytes of a batch up to its length, from there to the number of its records, and from there to its format. */
const prefixBytes = 12;
const headerBytes = 45;
const formatAt = 4;
const recordFormat = 2;
const attribute = { codec: 0x7, appendTime: 0x8, transactional: 0x10, control: 0x20 } as const;

/**
 * Reads an answer as kafkajs does, but of its records only where they begin.
 *
 * Of a batch whose last records compaction has removed it tells the end by a control record, which kafkajs passes over.
 * Without it kafkajs fetches at each of their offsets, one after the other; and where all of a batch is removed, and the
 * next one is cut off, at the same offset forever.
 *
 * @throws {@link OldFormat}
 */
export async function readFetchResponse(raw: Buffer): Promise<FetchResponse> {
  const reader = new ByteReader(raw);
  const clientSideThrottleTime = reader.int32();
  const errorCode = reader.int16();
  const sessionId = reader.int32();
  const responses: FetchedTopic[] = [];
  for (let topics = reader.int32(); topics > 0; topics -= 1) {
    const topicName = reader.text();
    const partitions: FetchedPartition[] = [];
    for (let left = reader.int32(); left > 0; left -= 1) partitions.push(await readPartition(reader));
    responses.push({ topicName, partitions });
  }
  return { throttleTime: 0, clientSideThrottleTime, errorCode, sessionId, responses };
}

async function readPartition(reader: ByteReader): Promise<FetchedPartition> {
  const header = {
    partition: reader.int32(),
    errorCode: reader.int16(),
    highWatermark: String(reader.int64()),
    lastStableOffset: String(reader.int64()),
    lastStartOffset: String(reader.int64()),
    abortedTransactions: reader.array(() => ({
      producerId: String(reader.int64()),
      firstOffset: String(reader.int64()),
    })),
    preferredReadReplica: reader.int32(),
  };
  const size = reader.int32();
  if (size <= 0 || reader.left < size) return { ...header, messages: [] };
  reader.at += size;
  const messages = await readBatches(reader.bytes.subarray(reader.at - size, reader.at));
  const last = messages.at(-1);
  // Up to the last stable offset, because what is behind it comes only when the open transactions have ended.
  if (last !== undefined && BigInt(last.offset) + 1n < BigInt(header.lastStableOffset))
    cutAnswers.add(messages);
  return { ...header, messages };
}

async function readBatches(bytes: Buffer): Promise<readonly FetchedRecord[]> {
  const records: FetchedRecord[] = [];
  const reader = new ByteReader(bytes);
  // At the same place in every format.
  if (bytes[prefixBytes + formatAt] !== recordFormat) throw new OldFormat();
  // The last batch is cut off where the answer has reached its size.
  while (reader.left >= prefixBytes + headerBytes + 4) {
    const firstOffset = reader.int64();
    const size = reader.int32();
    if (reader.left < size) break;
    const batch = bytes.subarray(reader.at, reader.at + size);
    reader.at += size;
    await readRecords(batch, firstOffset, records);
  }
  return records;
}

async function readRecords(batch: Buffer, firstOffset: bigint, into: FetchedRecord[]): Promise<void> {
  const attributes = batch.readInt16BE(9);
  const context: RecordContext = {
    firstOffset,
    firstTimestamp: batch.readBigInt64BE(15),
    appendedAt: attributes & attribute.appendTime ? batch.readBigInt64BE(23) : undefined,
    producerId: String(batch.readBigInt64BE(31)),
    inTransaction: (attributes & attribute.transactional) !== 0,
    isControlBatch: (attributes & attribute.control) !== 0,
  };
  const count = batch.readInt32BE(headerBytes);
  const end = firstOffset + BigInt(batch.readInt32BE(11));
  const codec = attributes & attribute.codec;
  const packed = batch.subarray(headerBytes + 4);
  const reader = new ByteReader(codec === 0 || count <= 0 ? packed : await unpacked(codec, packed));
  for (let left = count; left > 0; left -= 1) {
    const size = reader.variable();
    const next = reader.at + size;
    if (next > reader.bytes.length) throw new RangeError('A record goes beyond the end of its batch.');
    into.push(new FetchedRecord(reader, context));
    reader.at = next;
  }
  if (count <= 0 || into.at(-1)?.offset !== String(end)) into.push(endOfBatch(end, context));
}

type Codecs = Readonly<Record<number, () => { decompress(packed: Buffer): Promise<Buffer> }>>;

/** By the codecs of kafkajs, which the application may have replaced. */
async function unpacked(codec: number, packed: Buffer): Promise<Buffer> {
  const codecs: Codecs = kafkajs().CompressionCodecs;
  const made = codecs[codec]?.();
  if (made === undefined) throw new Error(`A batch is packed by the unknown codec ${codec}.`);
  return made.decompress(packed);
}
