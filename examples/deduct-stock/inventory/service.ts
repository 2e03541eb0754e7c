import type { FastifyInstance } from 'fastify';
import { send } from 'temporal-outbox';
import { once } from 'temporal-outbox/consumer';
import type { z } from 'zod';
import { Deduct, stockAnswered } from '../contract.ts';
import { receiver } from '../receiver.ts';
import type { Prisma, PrismaClient } from './generated/client.ts';

/**
 * The inventory. A repeated message is dropped by its id; `once` also drops another message about the same order, such as a copy
 * that a person has sent. The answer commits with what it tells.
 */
export const inventoryService = (prisma: PrismaClient): FastifyInstance =>
  receiver('/deduct', prisma, 'inventory', async (tx, { payload }) => {
    const order = Deduct.parse(payload);
    await once(tx, 'deductions', order.orderId, async () => {
      const result = (await takeStock(tx, order)) ? 'deducted' : 'not-enough';
      await send(tx, stockAnswered, { orderId: order.orderId, result }, { key: order.orderId });
    });
  });

/** @returns false where there is not enough. Looking and taking are one statement, so two orders at once cannot take one piece. */
async function takeStock(tx: Prisma.TransactionClient, order: z.infer<typeof Deduct>): Promise<boolean> {
  const { sku, quantity } = order;
  const where = { sku, left: { gte: quantity } };
  const { count } = await tx.stock.updateMany({ where, data: { left: { decrement: quantity } } });
  if (count === 1) await tx.deduction.create({ data: order });
  return count === 1;
}
