import type { EachBatchPayload, OffsetsByTopicPartition } from 'kafkajs';
import { OfferedBatch } from '../../offered-batch.ts';
import type { IncomingBatch, IncomingMessage, Subscription } from '../../source.ts';
import { memberOf } from '../client/client-internals.ts';
import { isCut } from '../client/fetch-response.ts';
import { AnswerEnd } from '../client/fetched-record.ts';
import type { Losses } from './losses.ts';
import { Pulse } from './pulse.ts';
import { ReceivedRecord } from './received-record.ts';

/**
 * kafkajs fetches from a broker again only when all partitions of the last response have been handled. So each
 * partition gets a time slice, and what does not fit is fetched again. The shorter slice applies while no other
 * partition is being handled; the longer one is the limit, which bounds what is delivered again after a crash. There is
 * no limit before the first message is done: otherwise a message that takes longer than its slice would be fetched
 * forever.
 */
const shareMs = { alone: 1_000, most: 3_000 } as const;
/** Heartbeats are sent at most every {@link heartbeatIntervalMs}; looking more often keeps them punctual. */
const heartbeatLookMs = 500;
/** A rebalance is noticed by a heartbeat, so this is also how long a new member waits for the others. */
export const heartbeatIntervalMs = 1_000;

/** What a membership provides to its batches. */
export interface BatchContext {
  readonly subscription: Subscription;
  /** After this time without a heartbeat the membership is over. */
  readonly sessionTimeoutMs: number;
  /** Fires when the consumer stops. */
  readonly stopping: AbortSignal;
  /** Resolves when the start offsets are settled; what was fetched before may be from other offsets. */
  begun(): Promise<void>;
  readonly losses: Losses;
  /** The batches in progress of this membership. */
  readonly inHand: Set<EachBatchPayload>;
  /** Resumes a partition after the pause, unless the membership has ended by then. */
  resumeAfter(pauseMs: number, resume: () => void): void;
}

/**
 * Hands over what was fetched of one partition, commits how far it is done, and pauses the partition if requested.
 *
 * Throws what kafkajs must handle: a rebalance, or the loss of the coordinator. kafkajs then joins again, after the
 * batches of all other partitions have ended, too.
 */
export async function takeBatch(payload: EachBatchPayload, context: BatchContext): Promise<void> {
  // An error here ends the membership elsewhere.
  if (
    !(await context.begun().then(
      () => true,
      () => false,
    )) ||
    payload.isStale()
  )
    return;
  const giveUp = new AbortController();
  const stop = (): void => giveUp.abort();
  context.stopping.addEventListener('abort', stop);
  if (context.stopping.aborted) giveUp.abort();

  let trouble: { readonly error: unknown } | undefined;
  const pulse = new Pulse(context.sessionTimeoutMs);
  const heart = setInterval(() => {
    pulse.look();
    payload.heartbeat().then(
      () => pulse.heard(),
      (error: unknown) => {
        trouble ??= { error };
        giveUp.abort();
        pulse.failed(error);
      },
    );
  }, heartbeatLookMs);
  context.inHand.add(payload);
  try {
    await batchChannel(payload, context, { signal: giveUp.signal, lost: pulse.lost });
  } finally {
    context.inHand.delete(payload);
    clearInterval(heart);
    context.stopping.removeEventListener('abort', stop);
  }
  await payload.commitOffsetsIfNecessary(doneOf(payload));
  // In an object, because a rejection with `undefined` is an error, too.
  if (trouble !== undefined) throw trouble.error;
}

async function batchChannel(
  payload: EachBatchPayload,
  context: BatchContext,
  { lost, signal }: Pick<IncomingBatch, 'lost' | 'signal'>,
): Promise<void> {
  const { topic: address, partition, messages: handed } = payload.batch;
  const end = handed.find((record) => record instanceof AnswerEnd);
  const messages = handed
    .filter((record) => record !== end)
    .map((record) => new ReceivedRecord(address, partition, record));
  const first = messages[0] ?? end;
  if (first !== undefined) context.losses.arrived({ address, partition }, first.offset);
  const pass = (last: { readonly offset: string } | undefined): void => {
    resolve(payload, last);
    if (last !== undefined) context.losses.done({ address, partition }, last.offset);
  };
  if (messages.length === 0 && end !== undefined) return pass(end);
  const startedAtMs = performance.now();
  const hasTime = (): boolean => {
    if (!batch.moved) return true;
    const spentMs = performance.now() - startedAtMs;
    return spentMs < (context.inHand.size > 1 ? shareMs.most : shareMs.alone);
  };
  const mayGoOn = (): boolean => payload.isRunning() && hasTime();
  const cut = isCut(memberOf(payload.batch, 'rawMessages'));
  const batch = new OfferedBatch({ address, partition, messages, signal, lost, mayGoOn, cut });
  await context.subscription.handle(batch);
  // Not earlier: no offset may be committed before `handle` has finished. kafkajs fetches again from here, so open
  // messages need no other step to be offered again.
  const done = batch.done();
  const last = done.at(-1);
  pass(done.length === messages.length ? (end ?? last) : last);
  if (batch.restMs !== undefined) context.resumeAfter(batch.restMs, payload.pause());
}

/** The real type: in the types of kafkajs, partitions are not strings. */
interface Uncommitted {
  readonly topics: readonly {
    readonly topic: string;
    readonly partitions: readonly { readonly partition: number | string; readonly offset: string }[];
  }[];
}

/**
 * The offset of this partition only. For others kafkajs may hold the offset of its first fetch, which is the oldest
 * message until it applies the start offset of the group.
 */
function doneOf(payload: EachBatchPayload): OffsetsByTopicPartition {
  const { topic, partition } = payload.batch;
  const uncommitted: Uncommitted = payload.uncommittedOffsets();
  const own = uncommitted.topics
    .find((one) => one.topic === topic)
    ?.partitions.find((one) => Number(one.partition) === partition);
  return {
    topics: own === undefined ? [] : [{ topic, partitions: [{ partition, offset: own.offset }] }],
  };
}

function resolve(payload: EachBatchPayload, last: Pick<IncomingMessage, 'offset'> | undefined): void {
  if (last === undefined) return;
  try {
    payload.resolveOffset(last.offset);
  } catch {
    // The fetch loop of another broker has rejoined since, and the partition is no longer assigned to this member.
  }
}
