import { send, transaction } from 'temporal-outbox';
import { deductStock } from '../contract.ts';
import type { PrismaClient } from './generated/client.ts';

/** Stores the order and the message to the inventory together. */
export function placeOrder(prisma: PrismaClient, sku: string, quantity: number): Promise<string> {
  return transaction(prisma, async (tx) => {
    const { id } = await tx.order.create({ data: { sku, quantity } });
    await send(tx, deductStock, { orderId: id, sku, quantity }, { key: id });
    return id;
  });
}
