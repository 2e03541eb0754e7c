import { consumer, type RunningConsumer } from 'temporal-outbox/consumer';
import type { PrismaClient } from './generated/client.ts';
import { cancelUnpaid } from './orders.ts';
import config from './outbox.config.ts';
import { orderTimeout } from './topics.ts';

/** Handles the timeout of each order once, when it is due. */
export const handleTimeouts = (prisma: PrismaClient): Promise<RunningConsumer> =>
  consumer(prisma, { config, group: 'order-timeout', logger: false })
    .on(orderTimeout, (tx, { payload }) => cancelUnpaid(tx, payload.orderId))
    .start();
