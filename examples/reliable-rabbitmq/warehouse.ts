import { consumer } from 'temporal-outbox/consumer';
import type { Prisma, PrismaClient } from './generated/client.ts';
import config from './outbox.config.ts';
import { orderPlaced } from './topics.ts';

/** Stores each message once, in the transaction that stores its id, and acknowledges it after the commit. */
export const startWarehouse = (prisma: PrismaClient) =>
  consumer(prisma, { config, group: 'warehouse', logger: false })
    // The id that the sender chose; `id` has its installation, too.
    .on(orderPlaced, (tx, { headers, payload }) => pick(tx, headers['ce_id'] ?? '', payload.orderId))
    .start();

/** What the warehouse does with a message. Also used by the way by hand, which differs only around it. */
export async function pick(tx: Prisma.TransactionClient, messageId: string, orderId: string): Promise<void> {
  const orderFound = (await tx.order.count({ where: { id: orderId } })) === 1;
  await tx.picking.create({ data: { messageId, orderId, orderFound } });
}
