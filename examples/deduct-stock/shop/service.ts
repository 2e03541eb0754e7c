import type { FastifyInstance } from 'fastify';
import { Answer } from '../contract.ts';
import { receiver } from '../receiver.ts';
import type { PrismaClient } from './generated/client.ts';

/** The shop: an order waits for the answer of the inventory, which may be a refusal. */
export const shopService = (prisma: PrismaClient): FastifyInstance =>
  receiver('/stock-answers', prisma, 'shop', async (tx, { payload }) => {
    const { orderId, result } = Answer.parse(payload);
    const status = result === 'deducted' ? 'CONFIRMED' : 'REJECTED';
    await tx.order.update({ where: { id: orderId }, data: { status } });
  });
