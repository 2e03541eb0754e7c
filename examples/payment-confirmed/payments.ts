import { randomUUID } from 'node:crypto';
import { PrismaPg } from '@prisma/adapter-pg';
import { send, transaction } from 'temporal-outbox';
import { type Prisma, PrismaClient } from './generated/payments/client.ts';
import { paymentMade } from './topics.ts';

export const paymentsDatabase = (): PrismaClient =>
  new PrismaClient({ adapter: new PrismaPg(process.env['DATABASE_URL'] ?? '') });

/** A payment, and the message that tells the ledger of it. */
export interface Payment {
  readonly id: string;
  readonly messageId: string;
}

/** What is paid, and from where. */
export interface Transfer {
  readonly cents: number;
  /** The payments of an account are booked in order. */
  readonly account?: string;
  readonly messageId?: string;
}

/** Stores a payment with its message, whose row is the stub: it knows how often it was sent, and whether it is confirmed. */
export const pay = (prisma: PrismaClient, transfer: Transfer): Promise<Payment> =>
  transaction(prisma, (tx) => storePayment(tx, transfer));

/** What is done within the transaction. */
export async function storePayment(
  tx: Prisma.TransactionClient,
  { cents, account = 'account-1', messageId = randomUUID() }: Transfer,
): Promise<Payment> {
  const { id } = await tx.payment.create({ data: { cents } });
  await send(tx, paymentMade, { paymentId: id, cents }, { id: messageId, key: account });
  return { id, messageId };
}
