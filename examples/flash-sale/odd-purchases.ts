import assert from 'node:assert/strict';
import { operations } from 'temporal-outbox/operations';
import type { PrismaClient } from './generated/client.ts';
import { type OddFigures, offer, tooLong, until } from './odd-sale.ts';
import { createOrders } from './orders.ts';
import config from './outbox.config.ts';
import { buy, type Redis, saleOf } from './sale.ts';

type Purchase = Awaited<ReturnType<typeof buy>>;

/** The same purchases here, with two consumers of the group all the time, one of which meets an error. */
export async function playOddPurchases(prisma: PrismaClient, redis: Redis): Promise<OddFigures> {
  const { orders } = saleOf('voucher');
  const soldOut = await offer(prisma, redis, 'sold-out', orders, 0);
  const open = await offer(prisma, redis, 'open', orders, 10);
  let passes = 0;
  const consumers = [createOrders(prisma), createOrders(prisma)].map((consumer) =>
    consumer
      .use(async (_, next) => {
        passes += 1;
        if (passes === 1) throw new Error('The database does not answer.');
        await next();
      })
      .start(),
  );
  const running = await Promise.all(consumers);
  const tooLate = await buy(redis, soldOut, 'too-late');
  const impossible = await buy(redis, open, tooLong('here'));
  const [first, second] = [await buy(redis, open, 'first'), await buy(redis, open, 'second')];
  const behind = await buy(redis, open, 'behind');

  // The two that cannot become an order are kept, one for a person, the other for its next try. The others go on.
  const operator = operations(config);
  const isKept = async ({ orderId }: Purchase, state: 'failed' | 'parked') =>
    (await operator.inbox.list({ states: [state] })).messages.some(({ id }) => id === `purchased:${orderId}`);
  const isStored = async ({ orderId }: Purchase) =>
    orderId !== undefined && (await prisma.order.count({ where: { id: orderId } })) === 1;
  await until(async () => (await isStored(first)) && (await isStored(second)));
  await until(async () => (await isKept(tooLate, 'failed')) && (await isKept(impossible, 'parked')));
  await until(() => isStored(behind));
  assert.ok(passes > 5); // one of them has met the error

  const lost = async (purchases: readonly Purchase[]) => {
    let count = 0;
    for (const one of purchases)
      if (!(await isStored(one)) && !(await isKept(one, 'failed')) && !(await isKept(one, 'parked')))
        count += 1;
    return count;
  };
  const figures = {
    dropped: await lost([tooLate, impossible]),
    heldUp: (await isStored(behind)) ? 0 : 1,
    lostBetweenTwo: await lost([first, second]),
  };
  await Promise.all([...running.map((one) => one.stop()), operator.close()]);
  return figures;
}
