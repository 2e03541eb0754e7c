import { setTimeout as delay } from 'node:timers/promises';
import type { PrismaClient as Inventory } from './inventory/generated/client.ts';
import type { Network } from './network.ts';
import type { PrismaClient as Shop } from './shop/generated/client.ts';

export interface Stage {
  readonly shop: Shop;
  readonly inventory: Inventory;
  readonly network: Network;
}

export async function until(condition: () => Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 60_000; !(await condition()); await delay(20))
    if (Date.now() > deadline) throw new Error(`Waited in vain: ${condition}`);
}

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
}

/** Fifteen apples; each way is played from here. */
export async function reset({ shop, inventory }: Stage): Promise<void> {
  await shop.order.deleteMany();
  await inventory.deduction.deleteMany();
  await inventory.stock.deleteMany();
  await inventory.stock.create({ data: { sku: 'apple', left: 15 } });
}

/** Compares what the shop believes of its orders with what the inventory has done. */
export async function figuresOf(
  { inventory }: Stage,
  served: readonly string[],
  failed: readonly string[],
): Promise<Figures> {
  const taken = (await inventory.deduction.findMany()).map(({ orderId }) => orderId);
  return {
    servedWithoutStock: served.filter((id) => !taken.includes(id)).length,
    takenButFailed: failed.filter((id) => taken.includes(id)).length,
    givenUp: failed.filter((id) => !taken.includes(id)).length,
    doubled: taken.length - new Set(taken).size,
  };
}
