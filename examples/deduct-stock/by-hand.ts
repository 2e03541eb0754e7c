// The usual way by hand, as small as it can be: a message table, a job that posts, and an inventory that reads the stock, reduces
// it and writes it back. Not to be copied.
import type { FastifyInstance } from 'fastify';
import fastify from 'fastify';
import { Deduct } from './contract.ts';
import type { PrismaClient as Inventory } from './inventory/generated/client.ts';
import type { PrismaClient as Shop } from './shop/generated/client.ts';

export const done = 2;
export const failed = 3;

/** Stores the order and its message together. */
export function placeOrderByHand(prisma: Shop, sku: string, quantity: number): Promise<string> {
  return prisma.$transaction(async (tx) => {
    const { id } = await tx.order.create({ data: { sku, quantity } });
    const content = JSON.stringify({ orderId: id, sku, quantity });
    await tx.orderMessage.create({ data: { orderId: id, content } });
    return id;
  });
}

/**
 * The job of every ten seconds: posts what is to be sent, the oldest hundred, one after the other.
 *
 * @param which those that this instance sees
 */
export async function deliver(prisma: Shop, url: string, which: { orderId?: string } = {}): Promise<void> {
  const messages = await prisma.orderMessage.findMany({
    where: { status: 0, ...which },
    orderBy: { createdAt: 'asc' },
    take: 100,
  });
  for (const { orderId, content, retries } of messages) {
    const data = (await post(url, content))
      ? { status: done }
      : { retries: retries + 1, status: retries + 1 >= 3 ? failed : 0 };
    await prisma.orderMessage.update({ where: { orderId }, data });
  }
}

/** Waits for the answer as long as it takes. */
async function post(url: string, body: string): Promise<boolean> {
  const headers = { 'content-type': 'application/json' };
  return fetch(url, { method: 'POST', headers, body }).then(
    (response) => response.ok,
    () => false,
  );
}

/** What happens when the inventory has read the stock and not yet written it. */
export interface Moment {
  stockRead(): Promise<void>;
}

/** The inventory: an order that was processed before is answered as success. */
export function inventoryByHand(prisma: Inventory, moment: Moment): FastifyInstance {
  const app = fastify();
  app.post('/deduct', async (request) => {
    const order = Deduct.parse(request.body);
    const { orderId, sku, quantity } = order;
    return prisma.$transaction(
      async (tx) => {
        if ((await tx.processedMessage.count({ where: { orderId } })) > 0) return { success: true };
        const stock = await tx.stock.findUniqueOrThrow({ where: { sku } });
        await moment.stockRead();
        if (stock.left < quantity) return { success: false, reason: 'not enough stock' }; // with status 200
        await tx.stock.update({ where: { sku }, data: { left: stock.left - quantity } });
        await tx.deduction.create({ data: order });
        await tx.processedMessage.create({ data: { orderId } });
        return { success: true };
      },
      { maxWait: 20_000, timeout: 20_000 },
    );
  });
  return app;
}
