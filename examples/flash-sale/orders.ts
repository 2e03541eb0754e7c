import { send } from 'temporal-outbox';
import { consumer, permanent } from 'temporal-outbox/consumer';
import type { PrismaClient } from './generated/client.ts';
import config from './outbox.config.ts';
import { orderCreated, paymentDue, purchased } from './topics.ts';

const decoder = new TextDecoder();

/** Stores the order of each purchase once: stock, order, messages and the id of the purchase commit together. */
export const createOrders = (prisma: PrismaClient) =>
  consumer(prisma, { config, group: 'orders', logger: false }).on(
    purchased,
    async (tx, { payload }) => {
      const { orderId, userId, voucherId } = payload;
      const { count } = await tx.voucher.updateMany({
        where: { id: voucherId, stock: { gt: 0 } },
        data: { stock: { decrement: 1 } },
      });
      // Redis decides who buys, the database what can be true. A person looks at what they disagree on.
      if (count === 0) throw permanent(new Error('Redis has sold more than there is.'));
      await tx.order.create({ data: { id: orderId, userId, voucherId } });
      await send(tx, orderCreated, payload, { key: orderId });
      await send(tx, paymentDue, payload, { key: orderId, ref: orderId, after: '15 minutes' });
    },
    // The script writes no message id: the order's own id is what makes a repeat one.
    { id: ({ body }) => JSON.parse(decoder.decode(body ?? undefined)).orderId },
  );
