import { send, transaction } from 'temporal-outbox';
import type { PrismaClient } from './generated/client.ts';
import { orderPaid, orderPlaced } from './topics.ts';

/**
 * Stores the order and the start of its workflow together.
 *
 * @param rest what else the transaction does
 */
export const placeOrder = (prisma: PrismaClient, id: string, rest?: () => Promise<void>): Promise<void> =>
  transaction(prisma, async (tx) => {
    await tx.order.create({ data: { id, item: 'ladder' } });
    await send(tx, orderPlaced, { orderId: id }, { key: id });
    await rest?.();
  });

/** Stores the payment and the signal together. */
export const payOrder = (prisma: PrismaClient, id: string): Promise<void> =>
  transaction(prisma, async (tx) => {
    await tx.order.update({ where: { id }, data: { paid: true } });
    await send(tx, orderPaid, { orderId: id }, { key: id });
  });
