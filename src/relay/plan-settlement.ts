import type { TopicRules } from '../core/topic.ts';
import type { Claim } from '../store/lane/claim.ts';
import type { ClaimedMessage } from '../store/lane/claimed-messages.ts';
import type { PartitionRanges, SettledChange, Settlement } from '../store/lane/settle.ts';
import { type LaneProgress, progressOf, progressPast } from './lane-progress.ts';
import type { Outcome } from './publish-batch.ts';

/** By the index of the message in its claim. */
export type BatchOutcomes = readonly (Outcome | undefined)[];

export interface PlanInput {
  readonly owner: string;
  readonly batchId: string;
  readonly progress: LaneProgress;
  readonly claim: Claim;
  /** By the index of the message in the claim; `undefined` or absent: it was not handed to the transport. */
  readonly outcomes: BatchOutcomes;
  readonly rules: Pick<TopicRules, 'retryMs' | 'confirm'>;
}

/**
 * What to write to the lane and the rows after a batch was published; `undefined` if nothing.
 *
 * Acknowledged messages are marked on their rows if the lane stays where it is ({@link progressPast}), and always in a topic that asks for
 * receipts.
 */
export function planSettlement(input: PlanInput): Settlement | undefined {
  const { claim, progress, owner, batchId, outcomes, rules } = input;
  const { messages, truncated } = claim;
  // What was left of the late rows is gone: withdrawn, or moved to another lane.
  if (messages.length === 0 && (truncated || progress.late === undefined)) return undefined;
  const untouched = nothingLeft(claim.messages, outcomes);
  const next = untouched ? undefined : progressPast(claim, progress);
  const stored = next === undefined || rules.confirm !== undefined;
  const changes: SettledChange[] = [];
  for (const [index, message] of claim.messages.entries()) {
    const change = changeOf(message, outcomes[index], rules.retryMs, stored);
    if (change === undefined) continue;
    // The next claim reads these rows again unchanged; only those that may have been published must be marked, or have ended.
    const told = change.to === 'expired' || (change.to === 'ready' && change.maybePublished === true);
    if (!untouched || told) changes.push(change);
  }
  if (untouched && changes.length === 0) return undefined;
  const batch = batchOf(batchId, claim.messages, outcomes);
  return {
    owner,
    ...progressOf(next ?? progress),
    changes,
    claimSnapshot: claim.snapshot,
    ...(claim.unblocked && { unblocked: true }),
    ...(claim.unfailed && { unfailed: true }),
    // Behind a backlog the wait for a disk costs nothing, because the next batch is claimed during it, and a crash would repeat
    // a hundred thousand messages instead of what arrived in half a second.
    durable: claim.truncated || changes.length > 0,
    ...(batch !== undefined && { batch }),
  };
}

/** True if a hold kept back all of the batch that could be sent. A batch whose messages all wait for their keys is done: they become blocked. */
function nothingLeft(messages: readonly ClaimedMessage[], outcomes: BatchOutcomes): boolean {
  const isDeferred = (index: number): boolean => outcomes[index]?.kind === 'deferred';
  const isExpired = (index: number): boolean => outcomes[index]?.kind === 'expired';
  return (
    messages.every(({ blocked }, index) => blocked || isDeferred(index) || isExpired(index)) &&
    messages.some((_message, index) => isDeferred(index))
  );
}

function changeOf(
  message: ClaimedMessage,
  outcome: Outcome | undefined,
  retryMs: readonly number[],
  storePublished: boolean,
): SettledChange | undefined {
  const { id, suspect } = message;
  // Also one that is behind another one of its key: it blocks nothing.
  if (outcome?.kind === 'expired') return { id, to: 'expired', maybePublished: suspect };
  if (message.blocked || outcome === undefined) return { id, to: 'blocked', maybePublished: suspect };
  switch (outcome.kind) {
    case 'acknowledged': {
      const ownWorkflow = message.ownWorkflow !== null;
      if (!ownWorkflow && !storePublished) return undefined;
      const { partition } = outcome;
      const published = { id, to: 'published', partition, offset: numbered(outcome.offset) } as const;
      return ownWorkflow ? { ...published, attempt: 'acknowledged' } : published;
    }
    case 'rejected':
    case 'ambiguous': {
      const failure = {
        id,
        attempt: outcome.kind,
        error: outcome.error,
        maybePublished: suspect || outcome.kind === 'ambiguous',
      };
      const retryInMs = retryMs[message.attempts];
      return retryInMs === undefined
        ? { ...failure, to: 'failed' }
        : { ...failure, to: 'retrying', retryInMs };
    }
    case 'permanent':
      return { id, to: 'failed', attempt: 'permanent', error: outcome.error, maybePublished: suspect };
    case 'blocked':
      // Without a key it is behind nothing, and no key would ever be free for it.
      return {
        id,
        to: message.key === null ? 'ready' : 'blocked',
        maybePublished: suspect || outcome.onWire === true,
      };
    case 'deferred':
      return { id, to: 'ready', maybePublished: suspect || outcome.onWire };
  }
}

/** The largest number that a column for offsets holds. */
const mostOffset = 2n ** 63n - 1n;

/** Rows hold numbers. Other offsets, such as an entry id of Redis, are known only to the broker. */
function numbered(offset: string | null): string | null {
  return offset !== null && /^\d+$/.test(offset) && BigInt(offset) <= mostOffset ? offset : null;
}

function batchOf(
  id: string,
  messages: readonly ClaimedMessage[],
  outcomes: BatchOutcomes,
): Settlement['batch'] {
  const partitions: Record<number, { first: string; count: number }> = {};
  let count = 0;
  let first: string | undefined;
  let last = '';
  for (const [index, { position }] of messages.entries()) {
    const outcome = outcomes[index];
    if (outcome?.kind !== 'acknowledged') continue;
    count += 1;
    first ??= position;
    last = position;
    const { partition, offset } = outcome;
    if (partition === null || offset === null) continue;
    const range = partitions[partition];
    if (range !== undefined) range.count += 1;
    else if (numbered(offset) !== null) partitions[partition] = { first: offset, count: 1 };
  }
  if (first === undefined) return undefined;
  return {
    id,
    firstPosition: first,
    lastPosition: last,
    count,
    partitions: partitions satisfies PartitionRanges,
  };
}
