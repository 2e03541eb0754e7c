import { setTimeout as delay } from 'node:timers/promises';
import type { PrismaClient as Inventory } from './inventory/generated/client.ts';
import type { Network } from './network.ts';
import type { PrismaClient as Shop } from './shop/generated/client.ts';

export interface Stage {
  readonly shop: Shop;
  readonly inventory: Inventory;
  readonly network: Network;
}

export async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  for (const deadline = Date.now() + 60_000; !(await condition()); await delay(20))
    if (Date.now() > deadline) throw new Error(`Waited in vain: ${condition}`);
}

/** Resolves for all when so many have called it. */
export function meetingOf(size: number): () => Promise<void> {
  let there = 0;
  return () => {
    there += 1;
    return until(() => there >= size);
  };
}

/** What there is to sell. */
const pieces = { apple: 15, pear: 1 } as const;

/** What went wrong. */
export interface Figures {
  /** Orders that the shop takes for served, and whose goods were never taken. */
  readonly servedWithoutStock: number;
  /** Orders whose goods were taken, and which the shop does not take for served. */
  readonly takenButFailed: number;
  /** Orders that were never served, although there are goods. */
  readonly givenUp: number;
  /** Orders whose goods were taken twice. */
  readonly doubled: number;
  /** Pieces that were taken, beyond those that there were. */
  readonly oversold: number;
  /** Requests about one order beyond the first, though none has failed. */
  readonly postedAgain: number;
  /** Messages that waited behind one for as long as its request was left hanging. */
  readonly heldUp: number;
}

/** Each way is played from here. */
export async function reset({ shop, inventory }: Stage): Promise<void> {
  await shop.order.deleteMany();
  await inventory.deduction.deleteMany();
  await inventory.stock.deleteMany();
  const data = Object.entries(pieces).map(([sku, left]) => ({ sku, left }));
  await inventory.stock.createMany({ data });
}

/** Compares what the shop believes of its orders with what the inventory has done. */
export async function figuresOf(
  { inventory }: Stage,
  served: readonly string[],
  failed: readonly string[],
): Promise<Omit<Figures, 'postedAgain' | 'heldUp'>> {
  const deductions = await inventory.deduction.findMany();
  const taken = deductions.map(({ orderId }) => orderId);
  const beyond = Object.entries(pieces).map(([sku, there]) =>
    deductions.filter((one) => one.sku === sku).reduce((left, { quantity }) => left + quantity, -there),
  );
  return {
    servedWithoutStock: served.filter((id) => !taken.includes(id)).length,
    takenButFailed: failed.filter((id) => taken.includes(id)).length,
    givenUp: failed.filter((id) => !taken.includes(id)).length,
    doubled: taken.length - new Set(taken).size,
    oversold: beyond.filter((count) => count > 0).reduce((sum, count) => sum + count, 0),
  };
}
