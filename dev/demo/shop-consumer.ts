import { type ConsumerEvent, consumer, type RunningConsumer } from '../../src/consumer.ts';
import type { Config } from '../../src/index.ts';
import type { PrismaClient } from '../generated/shop/client.ts';
import { cancelUnpaid } from './shop.ts';
import { orderEvents, orderTimeout } from './shop-topics.ts';

/** What the consumer has done so far, by the position of each record in Kafka (`topic/partition/offset`). */
export interface InboxWatch {
  readonly handled: ReadonlySet<string>;
  /** Dropped because the message was already handled. */
  readonly dropped: ReadonlySet<string>;
  stop(): Promise<void>;
}

/** The key for a position in Kafka. */
export function recordPosition(topic: string, partition: number, offset: string): string {
  return `${topic}/${partition}/${offset}`;
}

/** Starts the consumer of the shop: it records each event and cancels orders that were not paid in time. */
export async function startShopConsumer(prisma: PrismaClient, config: Config): Promise<InboxWatch> {
  const handled = new Set<string>();
  const dropped = new Set<string>();
  const report = (event: ConsumerEvent): void => {
    if (event.type !== 'handled' && event.type !== 'duplicate') return;
    const position = recordPosition(event.address, event.partition, event.offset);
    if (event.type === 'handled') handled.add(position);
    // A redelivered record is not counted as a duplicate record.
    else if (!handled.has(position)) dropped.add(position);
  };
  const running: RunningConsumer = await consumer(prisma, { config, group: 'shop', report, logger: false })
    .on(orderEvents, async (tx, { id, payload }) => {
      await tx.effect.create({ data: { messageId: id, orderId: payload.orderId, what: payload.event } });
    })
    .on(orderTimeout, async (tx, { id, payload }) => {
      const what = (await cancelUnpaid(tx, payload.orderId)) ? 'timed out' : 'was paid in time';
      await tx.effect.create({ data: { messageId: id, orderId: payload.orderId, what } });
    })
    .start();
  return { handled, dropped, stop: () => running.stop() };
}
