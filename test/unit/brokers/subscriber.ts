import { onTestFinished } from 'vitest';
import type {
  IncomingBatch,
  Partition,
  Source,
  SourceNotice,
  Subscribed,
  Subscription,
} from '../../../src/brokers/source.ts';

export function acknowledgeAll(batch: IncomingBatch): void {
  for (const message of batch.messages) batch.acknowledge(message);
}

/**
 * Subscribes to `orders` of a source for the group `stock`, until the test ends, and records its calls.
 *
 * @param usual how much is handled at once
 */
export function subscriberOf(source: Source, usual: Pick<Subscription, 'batchSize' | 'concurrency'>) {
  const told = {
    assigned: [] as (readonly Partition[])[],
    disconnected: [] as (readonly [unknown, number])[],
    noticed: [] as SourceNotice[],
  };
  const running: Subscribed[] = [];
  onTestFinished(async () => {
    await Promise.all(running.map((one) => one.stop()));
  });
  return {
    told,
    subscribe: async (
      handle: (batch: IncomingBatch) => Promise<void> | void = acknowledgeAll,
      own: Partial<Subscription> = {},
    ): Promise<Subscribed> => {
      const subscribed = await source.subscribe({
        addresses: ['orders'],
        group: 'stock',
        ...usual,
        fromBeginning: true,
        joinWithinMs: 30_000,
        assigned: (partitions) => void told.assigned.push(partitions),
        disconnected: (...given) => void told.disconnected.push(given),
        noticed: (notice) => void told.noticed.push(notice),
        handle: async (batch) => handle(batch),
        ...own,
      });
      running.push(subscribed);
      return subscribed;
    },
  };
}
