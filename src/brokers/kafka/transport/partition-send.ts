import { givenUp } from '../../given-up.ts';
import type { Hold, OutgoingMessage, PublishOutcome } from '../../transport.ts';
import { chunksOf } from './chunks.ts';
import type { KafkaFailure } from './failure.ts';
import type { StoredAt } from './produce.ts';
import type { RecordSizes } from './record-sizes.ts';

/** What all partitions of a batch have in common. */
export interface PartitionedBatch {
  readonly messages: readonly OutgoingMessage[];
  readonly sizes: RecordSizes;
  /** One per message; each partition fills in its own. */
  readonly outcomes: PublishOutcome[];
  /** The largest record batch that the topic takes, as far as is known. */
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  send(partition: number, indexes: readonly number[]): Promise<StoredAt | KafkaFailure>;
}

/**
 * Sends the messages of one partition, given by their indexes in the batch, one record batch after the other.
 *
 * A record batch that is refused as a whole is halved, in order, until the message to blame is alone. Its followers of
 * the same key are skipped, everything else goes on. When a hold begins nothing more is sent. What was once in a batch
 * of which nobody knows whether it was stored says so until it is acknowledged.
 */
export async function sendPartition(
  batch: PartitionedBatch,
  partition: number,
  indexes: readonly number[],
): Promise<Hold | undefined> {
  const blockedKeys = new Set<string>();
  const doubted = new Set<number>();
  const waiting = chunksOf(batch.sizes, indexes, batch.maxBytes).toReversed();
  let hold: Hold | undefined;
  for (let chunk = waiting.pop(); chunk !== undefined; chunk = waiting.pop()) {
    const open = withoutBlocked(batch, chunk, blockedKeys, doubted);
    if (open.length === 0) continue;
    if (hold === undefined && batch.signal.aborted) hold = givenUp;
    if (hold !== undefined) {
      keep(batch, open, doubted);
      continue;
    }
    const result = await batch.send(partition, open);
    if (result.kind === 'stored') {
      acknowledge(batch, open, partition, result.baseOffset);
    } else if (result.kind === 'hold') {
      hold = { scope: result.scope, reason: result.reason };
      if (result.stored) doubt(open, doubted);
      keep(batch, open, doubted);
    } else if (open.length > 1) {
      if (result.single === 'ambiguous') doubt(open, doubted);
      const middle = Math.ceil(open.length / 2);
      waiting.push(open.slice(middle), open.slice(0, middle));
    } else {
      const kind = open.some((index) => doubted.has(index)) ? 'ambiguous' : result.single;
      settle(batch, open, { kind, error: result.reason });
      block(batch, open, blockedKeys);
    }
  }
  return hold;
}

function withoutBlocked(
  batch: PartitionedBatch,
  indexes: readonly number[],
  blockedKeys: ReadonlySet<string>,
  doubted: ReadonlySet<number>,
): readonly number[] {
  if (blockedKeys.size === 0) return indexes;
  return indexes.filter((index) => {
    const key = batch.messages[index]?.key ?? null;
    if (key === null || !blockedKeys.has(key)) return true;
    batch.outcomes[index] = doubted.has(index) ? { kind: 'blocked', onWire: true } : { kind: 'blocked' };
    return false;
  });
}

function acknowledge(
  batch: PartitionedBatch,
  indexes: readonly number[],
  partition: number,
  baseOffset: bigint,
): void {
  const safe = baseOffset <= BigInt(Number.MAX_SAFE_INTEGER - indexes.length);
  const base = Number(baseOffset);
  for (const [rank, index] of indexes.entries()) {
    const offset = safe ? String(base + rank) : String(baseOffset + BigInt(rank));
    batch.outcomes[index] = { kind: 'acknowledged', partition, offset };
  }
}

function doubt(indexes: readonly number[], doubted: Set<number>): void {
  for (const index of indexes) doubted.add(index);
}

function keep(batch: PartitionedBatch, indexes: readonly number[], doubted: ReadonlySet<number>): void {
  for (const index of indexes) batch.outcomes[index] = { kind: 'deferred', onWire: doubted.has(index) };
}

function settle(batch: PartitionedBatch, indexes: readonly number[], outcome: PublishOutcome): void {
  for (const index of indexes) batch.outcomes[index] = outcome;
}

function block(batch: PartitionedBatch, indexes: readonly number[], blockedKeys: Set<string>): void {
  for (const index of indexes) {
    const key = batch.messages[index]?.key ?? null;
    if (key !== null) blockedKeys.add(key);
  }
}
