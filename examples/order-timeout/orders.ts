import { type CancelAnswer, cancel, type Duration, send, transaction } from 'temporal-outbox';
import type { Prisma, PrismaClient } from './generated/client.ts';
import { orderTimeout } from './topics.ts';

/** Takes one piece from stock. The order and the message that may cancel it commit together. */
export function placeOrder(
  prisma: PrismaClient,
  productId: string,
  payWithin: Duration = '15 minutes',
): Promise<string> {
  return transaction(prisma, async (tx) => {
    await tx.product.update({
      where: { id: productId, stock: { gte: 1 } },
      data: { stock: { decrement: 1 } },
    });
    const { id } = await tx.order.create({ data: { productId } });
    await send(tx, orderTimeout, { orderId: id }, { after: payWithin, ref: id });
    return id;
  });
}

/**
 * Pays an order, and takes its timeout back in the same commit. `undefined`: it is not unpaid any more.
 *
 * `too-late` is no error. The timeout is on its way, and will find a paid order.
 */
export function payOrder(prisma: PrismaClient, id: string): Promise<CancelAnswer | undefined> {
  return transaction(prisma, async (tx) => {
    const { count } = await tx.order.updateMany({
      where: { id, status: 'UNPAID' },
      data: { status: 'PAID' },
    });
    return count === 0 ? undefined : cancel(tx, orderTimeout, id);
  });
}

/** Cancels an order that is still unpaid and returns its piece. The row decides: a paid order stays paid. */
export async function cancelUnpaid(tx: Prisma.TransactionClient, id: string): Promise<void> {
  const { count } = await tx.order.updateMany({
    where: { id, status: 'UNPAID' },
    data: { status: 'CANCELED' },
  });
  if (count === 0) return;
  const { productId } = await tx.order.findUniqueOrThrow({ where: { id } });
  await tx.product.update({ where: { id: productId }, data: { stock: { increment: 1 } } });
}
