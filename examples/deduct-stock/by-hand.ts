// The usual way by hand, as small as it can be: a message table and a job that posts. Not to be copied.
import type { FastifyInstance } from 'fastify';
import fastify from 'fastify';
import { Deduct } from './contract.ts';
import type { PrismaClient as Inventory } from './inventory/generated/client.ts';
import { takeStock } from './inventory/service.ts';
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

/** The job of every ten seconds: posts what is to be sent, the oldest hundred. */
export async function deliver(prisma: Shop, url: string): Promise<void> {
  const messages = await prisma.orderMessage.findMany({
    where: { status: 0 },
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

async function post(url: string, body: string): Promise<boolean> {
  const headers = { 'content-type': 'application/json' };
  return fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(5_000) }).then(
    (response) => response.ok,
    () => false,
  );
}

/** The inventory: an order that was processed before is answered as success. */
export function inventoryByHand(prisma: Inventory): FastifyInstance {
  const app = fastify();
  app.post('/deduct', async (request) => {
    const order = Deduct.parse(request.body);
    return prisma.$transaction(async (tx) => {
      const where = { orderId: order.orderId };
      if ((await tx.processedMessage.count({ where })) > 0) return { success: true };
      if (!(await takeStock(tx, order))) return { success: false, reason: 'not enough stock' }; // with status 200
      await tx.processedMessage.create({ data: where });
      return { success: true };
    });
  });
  return app;
}
