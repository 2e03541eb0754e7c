import assert from 'node:assert/strict';
import { deliver, done, failed, type Moment, placeOrderByHand } from './by-hand.ts';
import { type Figures, figuresOf, meetingOf, reset, type Stage, until } from './faults.ts';

/** The same orders and the same faults by hand. The job of every ten seconds runs when the story says so. */
export async function playStoryByHand(stage: Stage, url: string, moment: Moment): Promise<Figures> {
  const { shop, inventory, network } = stage;
  await reset(stage);
  const runJob = async (times: number): Promise<void> => {
    for (let run = 0; run < times; run += 1) await deliver(shop, url);
  };

  network.loseAnswers();
  const first = await placeOrderByHand(shop, 'apple', 2);
  await runJob(3);
  await network.mend();

  const second = await placeOrderByHand(shop, 'apple', 100);
  await runJob(1);

  await network.cut();
  const third = await placeOrderByHand(shop, 'apple', 1);
  await runJob(3); // half a minute of outage
  await network.mend();
  await runJob(1);

  // One pear, and two orders at once, each from an instance of the shop. Both read that there is one.
  const pears = [await placeOrderByHand(shop, 'pear', 1), await placeOrderByHand(shop, 'pear', 1)];
  moment.stockRead = meetingOf(2);
  await Promise.all(pears.map((orderId) => deliver(shop, url, { orderId })));

  // Two instances of the job read one row, and both post it. The inventory's unique key lets one through.
  const sixth = await placeOrderByHand(shop, 'apple', 1);
  moment.stockRead = meetingOf(2);
  const before = network.requests();
  await Promise.all([deliver(shop, url), deliver(shop, url)]);
  const posts = network.requests() - before;
  moment.stockRead = async () => {};
  await runJob(1);

  // One request hangs. The job waits for its answer, and the message behind it waits, too, while another instance gets through.
  const seventh = await placeOrderByHand(shop, 'apple', 1);
  const eighth = await placeOrderByHand(shop, 'apple', 1);
  const hanging = network.hang();
  const job = runJob(1);
  await until(hanging.hangs);
  const ninth = await placeOrderByHand(shop, 'apple', 1);
  await deliver(shop, url, { orderId: ninth });
  const waiting = await shop.orderMessage.findMany({ where: { status: 0, orderId: { not: seventh } } });
  assert.deepEqual(
    waiting.map(({ orderId }) => orderId),
    [eighth],
  );
  hanging.end();
  await job;
  await runJob(1);

  const messages = await shop.orderMessage.findMany();
  const those = (wanted: number) =>
    messages.filter(({ status }) => status === wanted).map((row) => row.orderId);
  const served = [second, ...pears, sixth, seventh, eighth, ninth];
  assert.deepEqual(those(done).toSorted(), served.toSorted());
  assert.deepEqual(those(failed).toSorted(), [first, third].toSorted());
  const left = await inventory.stock.findMany({ orderBy: { sku: 'asc' } });
  assert.deepEqual(left, [
    { sku: 'apple', left: 9 },
    { sku: 'pear', left: 0 },
  ]);
  const figures = await figuresOf(stage, those(done), those(failed));
  return { ...figures, postedAgain: posts - 1, heldUp: waiting.length };
}
