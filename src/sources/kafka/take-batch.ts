import type { EachBatchPayload, OffsetsByTopicPartition } from 'kafkajs';
import { OpenMessages } from '../open-messages.ts';
import type { IncomingBatch, IncomingMessage, Subscription } from '../source.ts';
import type { Losses } from './losses.ts';
import { Pulse } from './pulse.ts';
import { ReceivedRecord } from './received-record.ts';

/**
 * kafkajs fetches from a broker again only when all partitions of the last answer have been handled. So each gets a
 * share of time, and its rest is fetched again: the shorter one, once no other is at work and may wait for it, and never
 * more than the longer one, which bounds what is delivered again after a crash. Until the first message is done it has
 * all the time that it needs: else one for which a share is too short would be fetched for ever.
 */
const shareMs = { alone: 1_000, most: 3_000 } as const;
/** Heartbeats are sent at most every {@link heartbeatIntervalMs}; looking more often keeps them punctual. */
const heartbeatLookMs = 500;
/** A rebalance is noticed by a heartbeat, so this is also how long a new member waits for the others. */
export const heartbeatIntervalMs = 1_000;

/** What a membership lends to its batches. */
export interface BatchContext {
  readonly subscription: Subscription;
  /** Without a sign of life for so long the membership is over. */
  readonly sessionTimeoutMs: number;
  /** Fires when the consumer stops. */
  readonly stopping: AbortSignal;
  /** Resolves when it is settled where each partition begins; what was fetched before may be from elsewhere. */
  begun(): Promise<void>;
  readonly losses: Losses;
  /** The batches in hand of this membership. */
  readonly inHand: Set<EachBatchPayload>;
  /** Resumes a partition after the pause, unless the membership has ended by then. */
  resumeAfter(pauseMs: number, resume: () => void): void;
}

/**
 * Hands over what was fetched of one partition, records how far it was done, and pauses the partition if asked to.
 *
 * Throws what kafkajs must know: the group is rebalancing, or the coordinator is gone. It then joins again, after the
 * batches of all other partitions have ended too.
 */
export async function takeBatch(payload: EachBatchPayload, context: BatchContext): Promise<void> {
  // What stops it from being settled ends the membership.
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
  // An `undefined` error is an error, too: hence the box.
  if (trouble !== undefined) throw trouble.error;
}

async function batchChannel(
  payload: EachBatchPayload,
  context: BatchContext,
  { lost, signal }: Pick<IncomingBatch, 'lost' | 'signal'>,
): Promise<void> {
  const { topic: address, partition, messages: records } = payload.batch;
  const messages = records.map((record) => new ReceivedRecord(address, partition, record));
  const open = new OpenMessages(messages);
  const [first] = messages;
  if (first !== undefined) context.losses.arrived(first, first.offset);
  const startedAtMs = performance.now();
  const hasTime = (): boolean => {
    if (!open.moved) return true;
    const spentMs = performance.now() - startedAtMs;
    return spentMs < (context.inHand.size > 1 ? shareMs.most : shareMs.alone);
  };
  let restMs: number | undefined;
  await context.subscription.handle({
    address,
    partition,
    messages,
    signal,
    lost,
    mayBegin: () => restMs === undefined && !signal.aborted && payload.isRunning() && hasTime(),
    acknowledge: (message) => open.acknowledge(message),
    reject(message, afterMs) {
      open.reject(message);
      restMs = Math.max(restMs ?? 0, afterMs);
    },
  });
  // Only now: nothing of this batch is told to the broker before `handle` has done what belongs to its end. kafkajs
  // fetches again from here, so what is open needs no more to be offered again.
  const last = open.lastDone();
  resolve(payload, last);
  if (last !== undefined) context.losses.done(last, last.offset);
  if (restMs !== undefined) context.resumeAfter(restMs, payload.pause());
}

/** As kafkajs answers it: its types leave out that partitions are texts here. */
interface Uncommitted {
  readonly topics: readonly {
    readonly topic: string;
    readonly partitions: readonly { readonly partition: number | string; readonly offset: string }[];
  }[];
}

/**
 * How far this partition is done. Of others kafkajs may hold where it began to fetch, which is the oldest message until
 * it heeds where the group begins.
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

function resolve(payload: EachBatchPayload, last: IncomingMessage | undefined): void {
  if (last === undefined) return;
  try {
    payload.resolveOffset(last.offset);
  } catch {
    // Another broker's fetch joined anew meanwhile, and the partition is no longer ours.
  }
}
