import type { EachBatchPayload } from 'kafkajs';
import type { Subscription } from '../source.ts';
import { incomingMessage } from './incoming-message.ts';

/**
 * kafkajs fetches from a broker again only when all partitions of the last answer have been handled. So each gets a
 * share of time, which also bounds what is delivered again after a crash; its rest is fetched again.
 */
const shareMs = 1_000;
/** Heartbeats are sent at most every {@link heartbeatIntervalMs}; looking more often keeps them punctual. */
const heartbeatLookMs = 500;
/** A rebalance is noticed by a heartbeat, so this is also how long a new member waits for the others. */
export const heartbeatIntervalMs = 1_000;

/** What a membership lends to its batches. */
export interface BatchContext {
  readonly subscription: Subscription;
  /** Fires when the consumer stops. */
  readonly stopping: AbortSignal;
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
  const { batch } = payload;
  const { topic: address, partition } = batch;
  const giveUp = new AbortController();
  const stop = (): void => giveUp.abort();
  context.stopping.addEventListener('abort', stop);
  if (context.stopping.aborted) giveUp.abort();

  let trouble: { readonly error: unknown } | undefined;
  const heart = setInterval(() => {
    payload.heartbeat().catch((error: unknown) => {
      trouble ??= { error };
      giveUp.abort();
    });
  }, heartbeatLookMs);
  const endsAtMs = performance.now() + shareMs;
  try {
    const pauseMs = await context.subscription.handle({
      address,
      partition,
      messages: batch.messages.map((record) => incomingMessage(address, partition, record)),
      signal: giveUp.signal,
      mayBegin: () =>
        !giveUp.signal.aborted && payload.isRunning() && !payload.isStale() && performance.now() < endsAtMs,
      done: (message) => {
        try {
          payload.resolveOffset(message.offset);
        } catch {
          // Another broker's fetch joined anew meanwhile, and the partition is no longer ours.
          giveUp.abort();
        }
      },
    });
    if (pauseMs !== undefined) context.resumeAfter(pauseMs, payload.pause());
  } finally {
    clearInterval(heart);
    context.stopping.removeEventListener('abort', stop);
  }
  // All that is done of any partition: its effects are committed, whichever batch tells the broker.
  await payload.commitOffsetsIfNecessary(payload.uncommittedOffsets());
  // An `undefined` error is an error, too: hence the box.
  if (trouble !== undefined) throw trouble.error;
}
