import assert from 'node:assert/strict';
import { reschedule, type Transaction, transaction } from 'temporal-outbox';
import { startRelay } from 'temporal-outbox/relay';
import { lookAfterOrders, pay } from './after-sale.ts';
import { connect } from './database.ts';
import { startWithFaults, stop } from './faults.ts';
import { playOddPurchases } from './odd-purchases.ts';
import { playOddPurchasesByHand } from './odd-purchases-by-hand.ts';
import { until } from './odd-sale.ts';
import config from './outbox.config.ts';
import { rush } from './rush.ts';
import { connectRedis, giveBack, type Sale, saleOf } from './sale.ts';
import { paymentDue } from './topics.ts';

const pieces = 500;
const prisma = connect();
const redis = await connectRedis();
const [sale, byHand] = [saleOf('voucher'), saleOf('by-hand')];
for await (const keys of redis.scanIterator({ MATCH: 'flash-sale:*' }))
  if (keys.length > 0) await redis.del(keys);
for (const { voucherId, stock } of [sale, byHand]) {
  await prisma.voucher.create({ data: { id: voucherId, stock: pieces } });
  await redis.set(stock, pieces);
}
await redis.xGroupCreate(byHand.orders, 'g1', '0', { MKSTREAM: true });

// Your own relay is a process of its own: `temporal-outbox relay`.
const relay = startRelay(config, { logger: false });
await relay.ready;
const afterSale = await lookAfterOrders(prisma, redis).start();
const consumers = [startWithFaults('consume.ts', 'voucher'), startWithFaults('by-hand.ts', 'by-hand')];

// The rush: Redis decides, and stores each purchase in the stream.
const rushed = await rush(sale);
const rushedByHand = await rush(byHand);
assert.equal(rushed.sold, pieces);
assert.equal(rushedByHand.sold, pieces);
assert.ok(rushed['already bought'] > 0);

// Every purchase becomes an order, although the consumer is killed three times.
const children = await Promise.all(consumers);
await drained(sale);
const lastOrder = ((performance.now() - rushed.beganAt) / 1000).toFixed(1);
await drained(byHand);
await Promise.all(children.map(stop));
const here = await outcome(sale);
assert.deepEqual(here, { lost: 0, buyers: pieces, stock: 0, stockInRedis: 0 });
const handMade = await outcome(byHand);
// Two, unless the computer is so busy that the lock of the first kill has run out when the error comes.
const { lost } = handMade;
assert.ok(lost === 1 || lost === 2);
assert.deepEqual(handMade, { lost, buyers: pieces - lost, stock: lost, stockInRedis: 0 });

// Four of five are paid; for the others the 15 minutes are over now.
const orders = await prisma.order.findMany({ where: { voucherId: sale.voucherId } });
const unpaid = orders.splice(0, pieces / 5);
for (const { id } of orders) assert.equal(await pay(prisma, id), true);
const dueNow = async (tx: Transaction) => {
  for (const { id } of unpaid) await reschedule(tx, paymentDue, id, { after: 0 });
};
await transaction(prisma, dueNow, { timeout: 30_000 });
await until(async () => Number(await redis.get(sale.stock)) >= unpaid.length);
await until(async () => (await afterSale.status()).lag === 0);
for (const { id, userId } of unpaid) assert.equal(await giveBack(redis, sale, userId, id), false);
assert.equal(Number(await redis.get(sale.stock)), unpaid.length);
assert.equal(
  (await prisma.voucher.findUniqueOrThrow({ where: { id: sale.voucherId } })).stock,
  unpaid.length,
);
assert.equal(await prisma.order.count({ where: { status: 'PAID' } }), orders.length);
assert.equal(await prisma.notice.count(), pieces);

await afterSale.stop();
await relay.stop();

const odd = {
  byHand: await playOddPurchasesByHand(prisma, redis),
  here: await playOddPurchases(prisma, redis),
};
assert.deepEqual(odd.byHand, { dropped: 1, heldUp: 1, lostBetweenTwo: 1 });
assert.deepEqual(odd.here, { dropped: 0, heldUp: 0, lostBetweenTwo: 0 });
redis.destroy();
await prisma.$disconnect();
console.log(
  `flash-sale: ${rushed.requests} requests for ${pieces} pieces at ${rushed.perSecond} a second; consumer killed 3 times, ` +
    `last order after ${lastOrder} s; purchases without an order by hand: ${lost}, here: ${here.lost}; ` +
    `dropped, held up and lost between two consumers by hand: ${Object.values(odd.byHand).join(', ')}, ` +
    `here: ${Object.values(odd.here).join(', ')}; ` +
    `${unpaid.length} unpaid, back in both stocks`,
);

/** Resolves when the consumer of the sale has acknowledged every purchase. */
function drained({ orders }: Sale): Promise<void> {
  return until(async () => {
    const [group] = await redis.xInfoGroups(orders);
    const { 'last-generated-id': last } = await redis.xInfoStream(orders);
    return group?.['last-delivered-id'] === last && group.pending === 0;
  });
}

async function outcome({ voucherId, stock, buyers }: Sale) {
  const ordered = await prisma.order.findMany({ where: { voucherId } });
  const voucher = await prisma.voucher.findUniqueOrThrow({ where: { id: voucherId } });
  const promised = Object.values(await redis.hGetAll(buyers));
  const stored = new Set(ordered.map(({ id }) => id));
  return {
    lost: promised.filter((id) => !stored.has(id)).length,
    buyers: new Set(ordered.map(({ userId }) => userId)).size,
    stock: voucher.stock,
    stockInRedis: Number(await redis.get(stock)),
  };
}
