import { expect, onTestFinished } from 'vitest';
import type {
  IncomingBatch,
  IncomingMessage,
  Source,
  SourceNotice,
  Subscribed,
} from '../../../src/transports.ts';
import { until } from '../../support/fixtures/until.ts';

/** A member of a group, and what it was told. */
export interface TestMember {
  readonly received: IncomingMessage[];
  readonly notices: SourceNotice[];
  /** Whether it reads its addresses now. */
  isReading(): boolean;
  /** The errors that it told. */
  readonly errors: unknown[];
  stop(): Promise<void>;
  lag(): ReturnType<Subscribed['lag']>;
  /** Waits until so many messages were received. */
  has(count: number): Promise<void>;
}

/** Joins a group; the member ends with the test. By default it acknowledges everything. */
export async function joins(
  source: Source,
  address: string,
  {
    group = 'billing',
    take = (batch: IncomingBatch): void | Promise<void> => {
      for (const message of batch.messages) batch.acknowledge(message);
    },
    batchSize = 10,
    joinWithinMs = 30_000,
  } = {},
): Promise<TestMember> {
  const received: IncomingMessage[] = [];
  const notices: SourceNotice[] = [];
  const errors: unknown[] = [];
  let assigned = 0;
  const subscribed = await source.subscribe({
    addresses: [address],
    group,
    concurrency: 1,
    batchSize,
    fromBeginning: true,
    joinWithinMs,
    assigned: (partitions) => {
      assigned = partitions.length;
    },
    disconnected: (error) => void errors.push(error),
    noticed: (notice) => void notices.push(notice),
    async handle(batch) {
      received.push(...batch.messages);
      await take(batch);
    },
  });
  onTestFinished(() => subscribed.stop());
  return {
    received,
    notices,
    errors,
    isReading: () => assigned > 0,
    stop: () => subscribed.stop(),
    lag: () => subscribed.lag(),
    async has(count) {
      await until(() => received.length >= count);
      expect(received).toHaveLength(count);
    },
  };
}

/** The `n` in the body of each message. */
export function numbersOf(messages: readonly IncomingMessage[]): readonly number[] {
  return messages.map(({ body }) => Number(/"n":(\d+)/.exec(Buffer.from(body ?? []).toString())?.[1]));
}
