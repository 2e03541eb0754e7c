import { cancel, send, transaction } from 'temporal-outbox';
import { consumer } from 'temporal-outbox/consumer';
import type { PrismaClient } from './generated/client.ts';
import config from './outbox.config.ts';
import { giveBack, type Redis, saleOf } from './sale.ts';
import { orderCanceled, orderCreated, paymentDue } from './topics.ts';

/** The payment and the end of its time limit commit together. Answers whether it came in time. */
export const pay = (prisma: PrismaClient, orderId: string): Promise<boolean> =>
  transaction(prisma, async (tx) => {
    const unpaid = { id: orderId, status: 'UNPAID' };
    const { count } = await tx.order.updateMany({ where: unpaid, data: { status: 'PAID' } });
    if (count > 0) await cancel(tx, paymentDue, orderId);
    return count > 0;
  });

/** Tells buyers of their orders, and returns what they do not pay to both stocks. */
export const lookAfterOrders = (prisma: PrismaClient, redis: Redis) =>
  consumer(prisma, { config, group: 'after-sale', logger: false })
    .on(orderCreated, async (tx, { payload }) => {
      await tx.notice.create({ data: { orderId: payload.orderId, text: 'Pay within 15 minutes.' } });
    })
    .on(paymentDue, async (tx, { payload }) => {
      const { orderId, voucherId } = payload;
      const unpaid = { id: orderId, status: 'UNPAID' };
      const { count } = await tx.order.updateMany({ where: unpaid, data: { status: 'CANCELED' } });
      if (count === 0) return;
      await tx.voucher.update({ where: { id: voucherId }, data: { stock: { increment: 1 } } });
      await send(tx, orderCanceled, payload, { key: orderId });
    })
    // Redis is told only after the commit, so it never sells what the database still counts as sold.
    .on(orderCanceled, async (_tx, { payload }) => {
      await giveBack(redis, saleOf(payload.voucherId), payload.userId, payload.orderId);
    });
