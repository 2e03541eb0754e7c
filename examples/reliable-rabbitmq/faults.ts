import { setTimeout as delay } from 'node:timers/promises';
import type { PrismaClient } from './generated/client.ts';

export const declined = new Error('The card is declined.');

export async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  for (const deadline = Date.now() + 60_000; !(await condition()); await delay(20))
    if (Date.now() > deadline) throw new Error(`Waited in vain: ${condition}`);
}

export const stored = async (prisma: PrismaClient, messageId: string): Promise<boolean> =>
  (await prisma.picking.count({ where: { messageId } })) === 1;

/** What went wrong. */
export interface Figures {
  /** Messages whose order was rolled back. */
  readonly ghosts: number;
  /** Messages that were stored before their order. */
  readonly early: number;
  /** Orders whose message was never stored. */
  readonly lost: number;
  /** Deliveries of what the warehouse had stored already. */
  readonly repeats: number;
}

/** Compares what the warehouse has stored with the orders that there are. */
export async function figuresOf(prisma: PrismaClient, repeats: number): Promise<Figures> {
  const orders = new Set((await prisma.order.findMany()).map(({ messageId }) => messageId));
  const pickings = await prisma.picking.findMany();
  const known = pickings.filter(({ messageId }) => orders.has(messageId));
  return {
    ghosts: pickings.length - known.length,
    early: known.filter(({ orderFound }) => !orderFound).length,
    lost: orders.size - known.length,
    repeats,
  };
}
