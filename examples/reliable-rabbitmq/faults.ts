import { setTimeout as delay } from 'node:timers/promises';
import type { PrismaClient } from './generated/client.ts';

export const declined = new Error('The card is declined.');

export async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  for (const deadline = Date.now() + 60_000; !(await condition()); await delay(20))
    if (Date.now() > deadline) throw new Error(`Waited in vain: ${condition}`);
}

export const picked = async (prisma: PrismaClient, messageId: string, times = 1): Promise<boolean> =>
  (await prisma.picking.count({ where: { messageId } })) === times;

/** What went wrong. */
export interface Figures {
  /** Messages that have reached the warehouse, and whose order was rolled back. */
  readonly ghosts: number;
  /** Messages that have reached the warehouse before their order was committed. */
  readonly early: number;
  /** Orders that were never picked. */
  readonly lost: number;
  /** Orders that were picked twice. */
  readonly doubled: number;
  /** Orders that could not be placed while RabbitMQ was away. */
  readonly refused: number;
  /** Messages that were sent again, although RabbitMQ had confirmed them. */
  readonly copies: number;
}

/**
 * Compares what the warehouse has picked with the orders that there are.
 *
 * @param unknown messages that the warehouse refused, because it knew nothing of them
 */
export async function figuresOf(
  prisma: PrismaClient,
  { unknown = [], ...counted }: { unknown?: readonly string[]; refused: number; copies: number },
): Promise<Figures> {
  const orders = (await prisma.order.findMany()).map(({ messageId }) => messageId);
  const pickings = await prisma.picking.findMany();
  const strange = new Set(unknown);
  for (const { messageId, orderFound } of pickings) if (!orderFound) strange.add(messageId);
  const timesPicked = (wanted: string) => pickings.filter(({ messageId }) => messageId === wanted).length;
  return {
    ghosts: [...strange].filter((id) => !orders.includes(id)).length,
    early: [...strange].filter((id) => orders.includes(id)).length,
    lost: orders.filter((id) => timesPicked(id) === 0).length,
    doubled: orders.filter((id) => timesPicked(id) > 1).length,
    ...counted,
  };
}
