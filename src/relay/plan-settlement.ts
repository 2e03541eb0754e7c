import type { TopicRules } from '../core/topic.ts';
import type { Claim, ClaimedMessage } from '../store/lane/claim.ts';
import type { PartitionRanges, SettledChange, Settlement } from '../store/lane/settle.ts';
import type { PublishOutcome } from '../transports/transport.ts';

/** How far a lane has come. */
export interface LaneProgress {
  readonly cursor: string;
  readonly snapshot: string | null;
}

export interface PlanInput {
  readonly owner: string;
  readonly batchId: string;
  readonly progress: LaneProgress;
  readonly claim: Claim;
  /** Outcomes by message id, of all messages that were handed to the transport; blocked ones were not. */
  readonly outcomes: ReadonlyMap<string, PublishOutcome>;
  readonly rules: Pick<TopicRules, 'retryMs' | 'confirm'>;
}

/**
 * What to write to the lane and the rows after a batch was published; `undefined` if nothing.
 *
 * The cursor never moves back. If a truncated batch ends at or below it, late rows are still unread: cursor and snapshot
 * stay, so that the next claim reads those rows, and acknowledged messages are marked on their rows. Acknowledged messages
 * of a topic that asks for receipts are always marked on their rows.
 */
export function planSettlement(input: PlanInput): Settlement | undefined {
  const { claim, progress, owner, batchId, outcomes, rules } = input;
  const last = claim.messages.at(-1);
  if (last === undefined) return undefined;
  const untouched = nothingLeft(claim.messages, outcomes);
  const stays = untouched || (claim.truncated && BigInt(last.position) <= BigInt(progress.cursor));
  const stored = stays || rules.confirm !== undefined;
  const changes = claim.messages
    .map((message) => changeOf(message, outcomes.get(message.id), rules.retryMs, stored))
    .filter((change) => change !== undefined)
    // The next claim reads these rows again unchanged; only those that may have been published must be marked.
    .filter((change) => !untouched || (change.to === 'ready' && change.maybePublished === true));
  if (untouched && changes.length === 0) return undefined;
  const batch = batchOf(batchId, claim.messages, outcomes);
  return {
    owner,
    cursor: stays ? progress.cursor : greater(progress.cursor, last.position),
    snapshot: stays ? progress.snapshot : claim.snapshot,
    changes,
    ...(batch !== undefined && { batch }),
  };
}

/** True if a hold kept the whole batch back. A batch of only blocked messages is done: they become held. */
function nothingLeft(
  messages: readonly ClaimedMessage[],
  outcomes: ReadonlyMap<string, PublishOutcome>,
): boolean {
  const isDeferred = (message: ClaimedMessage): boolean => outcomes.get(message.id)?.kind === 'deferred';
  return messages.some(isDeferred) && messages.every((message) => message.blocked || isDeferred(message));
}

function changeOf(
  message: ClaimedMessage,
  outcome: PublishOutcome | undefined,
  retryMs: readonly number[],
  storePublished: boolean,
): SettledChange | undefined {
  const { id, suspect } = message;
  if (message.blocked || outcome === undefined) return { id, to: 'held', maybePublished: suspect };
  switch (outcome.kind) {
    case 'acknowledged': {
      const { partition } = outcome;
      const offset = numbered(outcome.offset);
      if (message.ownWorkflow) return { id, to: 'published', attempt: 'acknowledged', partition, offset };
      return storePublished ? { id, to: 'published', partition, offset } : undefined;
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
    case 'held':
      return { id, to: 'held', maybePublished: suspect || outcome.onWire === true };
    case 'deferred':
      return { id, to: 'ready', maybePublished: suspect || outcome.onWire };
  }
}

/** Rows hold numbers. Other places, as an entry id of Redis, are known to the broker alone. */
function numbered(offset: string | null): string | null {
  return offset !== null && /^\d+$/.test(offset) ? offset : null;
}

function batchOf(
  id: string,
  messages: readonly ClaimedMessage[],
  outcomes: ReadonlyMap<string, PublishOutcome>,
): Settlement['batch'] {
  const partitions: Record<string, { first: string; count: number }> = {};
  let count = 0;
  let first: string | undefined;
  let last = '';
  for (const message of messages) {
    const outcome = outcomes.get(message.id);
    if (outcome?.kind !== 'acknowledged') continue;
    count += 1;
    first ??= message.position;
    last = message.position;
    countOffset(partitions, outcome.partition, numbered(outcome.offset));
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

function countOffset(
  partitions: Record<string, { first: string; count: number }>,
  partition: number | null,
  offset: string | null,
): void {
  if (partition === null || offset === null) return;
  const range = partitions[partition];
  if (range === undefined) partitions[partition] = { first: offset, count: 1 };
  else range.count += 1;
}

function greater(a: string, b: string): string {
  return BigInt(a) >= BigInt(b) ? a : b;
}
