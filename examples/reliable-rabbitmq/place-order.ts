import { randomUUID } from 'node:crypto';
import { send, transaction } from 'temporal-outbox';
import type { Order, PrismaClient } from './generated/client.ts';
import { orderPlaced } from './topics.ts';

/**
 * Stores an order and its message, which has an id of our choice, so that the order can name it.
 *
 * @param rest what else the transaction does
 */
export function placeOrder(prisma: PrismaClient, item: string, rest?: () => Promise<void>): Promise<Order> {
  return transaction(prisma, async (tx) => {
    const order = await tx.order.create({ data: { item, messageId: randomUUID() } });
    await send(tx, orderPlaced, { orderId: order.id, item }, { id: order.messageId, key: order.id });
    await rest?.();
    return order;
  });
}
