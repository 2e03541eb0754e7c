import { setTimeout as delay } from 'node:timers/promises';
import type { PrismaClient } from './generated/client.ts';
import { type Redis, type Sale, saleOf } from './sale.ts';

/** What went wrong with the odd purchases. */
export interface OddFigures {
  /** Sold in Redis, not in the database, and nowhere kept. */
  readonly dropped: number;
  /** Behind one that can never become an order, and not even read. */
  readonly heldUp: number;
  /** Without an order, because two consumers had them at once. */
  readonly lostBetweenTwo: number;
}

/** A user whom no order can have: the database takes 40 characters. */
export const tooLong = (side: string): string => `${side}-${'x'.repeat(40)}`;

/** Ten pieces in Redis, to be sold into the stream of another sale. */
export async function offer(
  prisma: PrismaClient,
  redis: Redis,
  voucherId: string,
  orders: string,
  inDatabase: number,
): Promise<Sale> {
  const sale = { ...saleOf(voucherId), orders };
  await prisma.voucher.create({ data: { id: voucherId, stock: inDatabase } });
  await redis.set(sale.stock, 10);
  return sale;
}

export async function until(condition: () => Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 180_000; !(await condition()); await delay(50))
    if (Date.now() > deadline) throw new Error(`Waited in vain: ${condition}`);
}
