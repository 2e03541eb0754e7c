import { onTestFinished } from 'vitest';
import { rocketmqSource } from '../../../src/sources/rocketmq/rocketmq-source.ts';
import type { IncomingBatch, Partition, Subscribed, Subscription } from '../../../src/sources/source.ts';
import { scriptedRocketmq } from '../../support/fixtures/scripted-rocketmq.ts';

export const soon = { timeout: 20_000, interval: 5 };

/** A source at a scripted proxy, which has the topic `orders` with two brokers. */
export async function stage({ invisibleMs = 60_000, requestTimeoutMs = 10_000, lookEveryMs = 60_000 } = {}) {
  const proxy = await scriptedRocketmq();
  proxy.topics.set('orders', { brokers: { b: [0], a: [0, 1] }, type: 'FIFO' });
  const told = {
    assigned: [] as (readonly Partition[])[],
    disconnected: [] as (readonly [unknown, number])[],
  };
  const source = rocketmqSource(
    {
      endpoints: [proxy.endpoint],
      ssl: false,
      credentials: undefined,
      namespace: 'shop',
      requestTimeoutMs,
      invisibleMs,
    },
    lookEveryMs,
  );
  const running: Subscribed[] = [];
  onTestFinished(async () => {
    await Promise.all(running.map((one) => one.stop()));
  });
  return {
    proxy,
    source,
    told,
    subscribe: async (
      handle: (batch: IncomingBatch) => Promise<void> | void = acknowledgeAll,
      own: Partial<Subscription> = {},
    ): Promise<Subscribed> => {
      const subscribed = await source.subscribe({
        addresses: ['orders'],
        group: 'stock',
        concurrency: 4,
        batchSize: 10,
        fromBeginning: true,
        joinWithinMs: 30_000,
        assigned: (partitions) => void told.assigned.push(partitions),
        disconnected: (...given) => void told.disconnected.push(given),
        handle: async (batch) => handle(batch),
        ...own,
      });
      running.push(subscribed);
      return subscribed;
    },
  };
}

export function acknowledgeAll(batch: IncomingBatch): void {
  for (const message of batch.messages) batch.acknowledge(message);
}

/** Waits for the signal. */
export const fired = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve());
  });
