import { type CancelAnswer, cancel, type Stored, send } from '../../src/index.ts';
import type { Prisma } from '../generated/shop/client.ts';
import { orderEvents, orderTimeout } from './shop-topics.ts';

export type ShopTransaction = Prisma.TransactionClient;

/** An unpaid order. */
export interface UnpaidOrder {
  readonly id: string;
  readonly placed: Stored;
  /** The message that will cancel it. */
  readonly timeout: Stored;
}

/** Places an order to be paid within a time limit. Order, stock and both messages commit atomically. */
export async function placeOrder(
  tx: ShopTransaction,
  productId: string,
  payWithinMs: number,
): Promise<UnpaidOrder> {
  await takeFromStock(tx, productId);
  const payBy = new Date(Date.now() + payWithinMs);
  const { id } = await tx.order.create({ data: { productId, quantity: 1, payBy } });
  const placed = await send(tx, orderEvents, { orderId: id, event: 'placed' }, { key: productId });
  const timeout = await send(tx, orderTimeout, { orderId: id }, { after: payWithinMs, ref: id });
  return { id, placed, timeout };
}

/** Places an order that is paid at once: two messages, in this order. */
export async function placePaidOrder(
  tx: ShopTransaction,
  productId: string,
): Promise<Pick<UnpaidOrder, 'id' | 'placed'>> {
  await takeFromStock(tx, productId);
  const { id } = await tx.order.create({
    data: { productId, quantity: 1, status: 'PAID', payBy: new Date() },
  });
  const placed = await send(tx, orderEvents, { orderId: id, event: 'placed' }, { key: productId });
  await send(tx, orderEvents, { orderId: id, event: 'paid' }, { key: productId });
  return { id, placed };
}

/** Pays an order. Its timeout is canceled in the same commit, so it is no longer delivered. */
export async function payOrder(tx: ShopTransaction, id: string): Promise<CancelAnswer> {
  const { productId } = await tx.order.update({ where: { id, status: 'UNPAID' }, data: { status: 'PAID' } });
  await send(tx, orderEvents, { orderId: id, event: 'paid' }, { key: productId });
  return cancel(tx, orderTimeout, id);
}

/**
 * Cancels an order that is still unpaid and returns its stock.
 *
 * @returns false if it has been paid in the meantime
 */
export async function cancelUnpaid(tx: ShopTransaction, id: string): Promise<boolean> {
  const { count } = await tx.order.updateMany({
    where: { id, status: 'UNPAID' },
    data: { status: 'CANCELED' },
  });
  if (count === 0) return false;
  const { productId, quantity } = await tx.order.findUniqueOrThrow({ where: { id } });
  await tx.product.update({ where: { id: productId }, data: { stock: { increment: quantity } } });
  await send(tx, orderEvents, { orderId: id, event: 'canceled' }, { key: productId });
  return true;
}

/**
 * Takes one item from stock. The row stays locked until the commit, so the messages of a product are in the order of
 * the commits.
 *
 * @throws when the product is sold out
 */
async function takeFromStock(tx: ShopTransaction, productId: string): Promise<void> {
  await tx.product.update({
    where: { id: productId, stock: { gte: 1 } },
    data: { stock: { decrement: 1 } },
  });
}
