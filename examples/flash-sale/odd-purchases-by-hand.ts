import assert from 'node:assert/strict';
import { next, start, stop } from './faults.ts';
import type { PrismaClient } from './generated/client.ts';
import { type OddFigures, offer, tooLong } from './odd-sale.ts';
import { buy, type Redis, saleOf } from './sale.ts';

/** Purchases that the consumer by hand drops, stumbles over, or loses between two of its instances. */
export async function playOddPurchasesByHand(prisma: PrismaClient, redis: Redis): Promise<OddFigures> {
  const { dropped, heldUp } = await alone(prisma, redis);
  return { dropped, heldUp, lostBetweenTwo: await two(prisma, redis) };
}

async function alone(prisma: PrismaClient, redis: Redis) {
  const { orders } = saleOf('odd-by-hand');
  await redis.xGroupCreate(orders, 'g1', '0', { MKSTREAM: true });
  const soldOut = await offer(prisma, redis, 'sold-out-by-hand', orders, 0);
  const open = await offer(prisma, redis, 'open-by-hand', orders, 10);
  await buy(redis, soldOut, 'by-hand-too-late');
  await buy(redis, open, tooLong('by-hand'));
  await buy(redis, open, 'by-hand-behind');

  // The pending list is worked off until it is empty, which it never is, and meanwhile nothing else is read.
  const child = start('by-hand.ts', { order: 0, where: 'nowhere' }, 'odd-by-hand');
  for (let failures = 0; failures < 20; ) if ((await next(child)) === 'failed again') failures += 1;
  const [group] = await redis.xInfoGroups(orders);
  const { pending = 0, 'last-delivered-id': last } = group ?? {};
  const heldUp = (await redis.xRange(orders, `(${last}`, '+'))?.length ?? 0;
  await stop(child);
  const stored = await prisma.order.count({
    where: { voucherId: { in: [soldOut.voucherId, open.voucherId] } },
  });
  return { dropped: 3 - heldUp - pending - stored, heldUp };
}

/** Two instances with the one name that the group's consumer has. */
async function two(prisma: PrismaClient, redis: Redis): Promise<number> {
  const { orders } = saleOf('two-by-hand');
  await redis.xGroupCreate(orders, 'g1', '0', { MKSTREAM: true });
  const sale = await offer(prisma, redis, 'two-by-hand', orders, 10);
  await buy(redis, sale, 'by-hand-first');
  const first = start('by-hand.ts', { order: 1, where: 'error, after it was held up' }, 'two-by-hand');
  assert.equal(await next(first), 'held up');

  // The second meets an error, finds in the pending list what the first is doing, takes it for a repeat, and acknowledges it.
  await buy(redis, sale, 'by-hand-second');
  const second = start('by-hand.ts', { order: 1, where: 'error' }, 'two-by-hand');
  assert.equal(await next(second), 'pending list is empty');
  first.send('go on');
  assert.equal(await next(first), 'pending list is empty');
  await Promise.all([stop(first), stop(second)]);
  return 2 - (await prisma.order.count({ where: { voucherId: sale.voucherId } }));
}
