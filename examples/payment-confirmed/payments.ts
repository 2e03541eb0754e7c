import { randomUUID } from 'node:crypto';
import { PrismaPg } from '@prisma/adapter-pg';
import { send, transaction } from 'temporal-outbox';
import { PrismaClient } from './generated/payments/client.ts';
import { paymentMade } from './topics.ts';

export const paymentsDatabase = (): PrismaClient =>
  new PrismaClient({ adapter: new PrismaPg(process.env['DATABASE_URL'] ?? '') });

/** Stores a payment with its message, whose row is the stub: it knows how often it was sent, and whether it is confirmed. */
export function pay(
  prisma: PrismaClient,
  cents: number,
  messageId = randomUUID() as string,
): Promise<{ id: string; messageId: string }> {
  return transaction(prisma, async (tx) => {
    const { id } = await tx.payment.create({ data: { cents } });
    await send(tx, paymentMade, { paymentId: id, cents }, { id: messageId, key: 'account-1' });
    return { id, messageId };
  });
}
