import assert from 'node:assert/strict';
import { deliver, done, failed, placeOrderByHand } from './by-hand.ts';
import { type Figures, figuresOf, reset, type Stage } from './faults.ts';

/** The same orders and the same faults by hand. The job of every ten seconds runs when the story says so. */
export async function playStoryByHand(stage: Stage, url: string): Promise<Figures> {
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

  const messages = await shop.orderMessage.findMany();
  const those = (wanted: number) =>
    messages.filter(({ status }) => status === wanted).map((row) => row.orderId);
  assert.deepEqual(those(done), [second]);
  assert.deepEqual(those(failed).toSorted(), [first, third].toSorted());
  assert.deepEqual(await inventory.stock.findMany(), [{ sku: 'apple', left: 13 }]);
  return figuresOf(stage, those(done), those(failed));
}
