import type { EachBatchPayload } from 'kafkajs';
import { onTestFinished, vi } from 'vitest';
import { AnswerEnd } from '../../../../src/brokers/kafka/client/fetched-record.ts';
import { Losses } from '../../../../src/brokers/kafka/source/losses.ts';
import { takeBatch } from '../../../../src/brokers/kafka/source/take-batch.ts';
import type { IncomingBatch, SourceNotice } from '../../../../src/brokers/source.ts';
import { type SoFar, soFar } from '../../../support/fixtures/fake-time.ts';
import { kafkaConnection } from '../../../support/kafka/kafka-connection.ts';

const sessionTimeoutMs = 10_000;

/** Lets this time pass, on a clock that otherwise does not move. */
export const tick = (ms = 0): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

/** What kafkajs hands over of a partition; it fetches again from the offset that is resolved. */
class ScriptedPayload {
  readonly resolved: string[] = [];
  readonly committed: unknown[] = [];
  readonly paused: string[] = [];
  heartbeats = 0;
  /** What the next heartbeats fail with. */
  sick: { readonly error: unknown } | undefined;
  stale = false;
  running = true;
  unassigned = false;
  readonly batch: {
    readonly topic: string;
    readonly partition: number;
    readonly messages: readonly unknown[];
    rawMessages?: unknown;
  };

  constructor(partition: number, offsets: readonly string[]) {
    const record = { key: null, value: null, timestamp: '0', attributes: 0, headers: {} };
    const messages = offsets.map((given) => {
      const [offset = '', isEnd] = given.split(' ');
      return isEnd === undefined ? { ...record, offset } : new AnswerEnd(BigInt(offset));
    });
    this.batch = { topic: 'orders', partition, messages };
  }

  isStale = (): boolean => this.stale;
  isRunning = (): boolean => this.running;
  heartbeat = async (): Promise<void> => {
    this.heartbeats += 1;
    if (this.sick !== undefined) throw this.sick.error;
  };
  resolveOffset = (offset: string): void => {
    if (this.unassigned) throw new Error('not assigned');
    this.resolved.push(offset);
  };
  /** Of other partitions, too, as kafkajs has them. Partitions are strings. */
  uncommittedOffsets = (): unknown => {
    const last = this.resolved.at(-1);
    const own = { partition: String(this.batch.partition), offset: `after ${last}` };
    const other = { partition: '7', offset: '0' };
    return {
      topics: [
        { topic: 'bills', partitions: [{ partition: String(this.batch.partition), offset: '0' }] },
        { topic: 'orders', partitions: last === undefined ? [other] : [other, own] },
      ],
    };
  };
  commitOffsetsIfNecessary = async (offsets: { readonly topics: unknown }): Promise<void> => {
    this.committed.push(offsets.topics);
  };
  pause = (): (() => void) => {
    this.paused.push('paused');
    return () => void this.paused.push('resumed');
  };
}

/** Hands over batches of a membership; each is in hand until the test ends it. */
export function stage() {
  const batches: IncomingBatch[] = [];
  const noticed: SourceNotice[] = [];
  const ends: (() => void)[] = [];
  const stopping = new AbortController();
  const rests: number[] = [];
  const begun = { promise: Promise.resolve() };
  const subscription = {
    addresses: ['orders'],
    group: 'stock',
    concurrency: 10,
    fromBeginning: true,
    joinWithinMs: Infinity,
    batchSize: 100,
    handle: (batch: IncomingBatch) => {
      batches.push(batch);
      return new Promise<void>((resolve) => ends.push(resolve));
    },
    assigned: () => undefined,
    disconnected: () => undefined,
    noticed: (notice: SourceNotice) => void noticed.push(notice),
  };
  const losses = new Losses(kafkaConnection('127.0.0.1:1'), subscription);
  const context = {
    subscription,
    sessionTimeoutMs,
    stopping: stopping.signal,
    begun: () => begun.promise,
    losses,
    inHand: new Set<EachBatchPayload>(),
    resumeAfter(ms: number, resume: () => void) {
      rests.push(ms);
      resume();
    },
  };
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  return {
    batches,
    begun,
    context,
    losses,
    noticed,
    rests,
    stopping,
    /** Takes a batch, which is in hand afterwards; of `12 end` its answer ends at 12. */
    take: async (partition: number, ...offsets: readonly string[]) => {
      const payload = new ScriptedPayload(partition, offsets);
      const taking = takenBy(payload, context);
      await tick();
      return { payload, taking };
    },
    taken: (payload: ScriptedPayload) => takenBy(payload, context),
    /** Does this with the batch in hand, and ends it. */
    end: async (work: (batch: IncomingBatch) => void = acknowledgeAll) => {
      const batch = batches.at(-1);
      if (batch !== undefined) work(batch);
      ends.at(-1)?.();
      await tick();
    },
  };
}

function takenBy(payload: ScriptedPayload, context: Parameters<typeof takeBatch>[1]): SoFar<void> {
  return soFar(takeBatch(payload as unknown as EachBatchPayload, context));
}

function acknowledgeAll(batch: IncomingBatch): void {
  acknowledge(batch, ...batch.messages.map(({ offset }) => offset));
}

export function acknowledge(batch: IncomingBatch, ...offsets: readonly string[]): void {
  for (const message of batch.messages) if (offsets.includes(message.offset)) batch.acknowledge(message);
}

export function reject(batch: IncomingBatch, offset: string, afterMs: number): void {
  for (const message of batch.messages) if (message.offset === offset) batch.reject(message, afterMs);
}
