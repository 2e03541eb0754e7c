import { AbortedTransactions } from './aborted-transactions.ts';
import { ByteReader } from './byte-reader.ts';
import { AnswerEnd, FetchedRecord, type RecordContext } from './fetched-record.ts';
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
  /** Always empty: kafkajs has nothing to leave out any more. */
  readonly abortedTransactions: readonly [];
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
const attributesAt = 9;
const lastDeltaAt = 11;
const recordFormat = 2;
const attribute = { codec: 0x7, appendTime: 0x8, transactional: 0x10, control: 0x20 } as const;

/**
 * Reads an answer as kafkajs does, but of its records only where they begin, and only what is to be handed over: neither control records
 * nor those of aborted transactions.
 *
 * Where an answer ends with such ones, or with what compaction has removed, an {@link AnswerEnd} follows, which is handed over, too:
 * otherwise nobody would commit that the group has passed them, and it would seem to be behind until the next message. kafkajs
 * would also fetch at each of these offsets, one after the other; and where all of a batch is removed, and the next one is cut
 * off, at the same offset forever.
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
  };
  const aborted = reader.array(() => ({
    producerId: String(reader.int64()),
    firstOffset: String(reader.int64()),
  }));
  const rest = { abortedTransactions: [] as const, preferredReadReplica: reader.int32() };
  const size = reader.int32();
  if (size <= 0 || reader.left < size) return { ...header, ...rest, messages: [] };
  reader.at += size;
  const messages = await readBatches(
    reader.bytes.subarray(reader.at - size, reader.at),
    new AbortedTransactions(aborted),
  );
  const last = messages.at(-1);
  // Up to the last stable offset, because what is behind it comes only when the open transactions have ended.
  if (last !== undefined && BigInt(last.offset) + 1n < BigInt(header.lastStableOffset))
    cutAnswers.add(messages);
  return { ...header, ...rest, messages };
}

async function readBatches(bytes: Buffer, aborted: AbortedTransactions): Promise<readonly FetchedRecord[]> {
  const records: FetchedRecord[] = [];
  const reader = new ByteReader(bytes);
  // At the same place in every format.
  if (bytes[prefixBytes + formatAt] !== recordFormat) throw new OldFormat();
  let end: bigint | undefined;
  // The last batch is cut off where the answer has reached its size.
  while (reader.left >= prefixBytes + headerBytes + 4) {
    const firstOffset = reader.int64();
    const size = reader.int32();
    if (reader.left < size) break;
    const batch = bytes.subarray(reader.at, reader.at + size);
    reader.at += size;
    end = firstOffset + BigInt(batch.readInt32BE(lastDeltaAt));
    const context = contextOf(batch, firstOffset);
    if (!aborted.has(context, end)) await readRecords(batch, context, records, aborted);
  }
  if (end !== undefined && records.at(-1)?.offset !== String(end)) records.push(new AnswerEnd(end));
  return records;
}

function contextOf(batch: Buffer, firstOffset: bigint): RecordContext {
  const attributes = batch.readInt16BE(attributesAt);
  return {
    firstOffset,
    firstTimestamp: batch.readBigInt64BE(15),
    appendedAt: attributes & attribute.appendTime ? batch.readBigInt64BE(23) : undefined,
    producerId: String(batch.readBigInt64BE(31)),
    inTransaction: (attributes & attribute.transactional) !== 0,
    isControlBatch: (attributes & attribute.control) !== 0,
  };
}

async function readRecords(
  batch: Buffer,
  context: RecordContext,
  into: FetchedRecord[],
  aborted: AbortedTransactions,
): Promise<void> {
  const count = batch.readInt32BE(headerBytes);
  const codec = batch.readInt16BE(attributesAt) & attribute.codec;
  const packed = batch.subarray(headerBytes + 4);
  const reader = new ByteReader(codec === 0 || count <= 0 ? packed : await unpacked(codec, packed));
  for (let left = count; left > 0; left -= 1) {
    const size = reader.variable();
    const next = reader.at + size;
    if (next > reader.bytes.length) throw new RangeError('A record goes beyond the end of its batch.');
    const record = new FetchedRecord(reader, context);
    if (context.isControlBatch) aborted.ended(record);
    else into.push(record);
    reader.at = next;
  }
}

type Codecs = Readonly<Record<number, () => { decompress(packed: Buffer): Promise<Buffer> }>>;

/** By the codecs of kafkajs, which the application may have replaced. */
async function unpacked(codec: number, packed: Buffer): Promise<Buffer> {
  const codecs: Codecs = kafkajs().CompressionCodecs;
  const made = codecs[codec]?.();
  if (made === undefined) throw new Error(`A batch is packed by the unknown codec ${codec}.`);
  return made.decompress(packed);
}
