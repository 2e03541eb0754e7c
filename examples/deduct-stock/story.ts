import assert from 'node:assert/strict';
import { operations } from 'temporal-outbox/operations';
import { startRelay } from 'temporal-outbox/relay';
import { type Figures, figuresOf, reset, type Stage, until } from './faults.ts';
import inventoryConfig from './inventory/outbox.config.ts';
import shopConfig from './shop/outbox.config.ts';
import { placeOrder } from './shop/place-order.ts';

/** Orders on the outbox, with a fault each. The shop has two relays. */
export async function playStory(stage: Stage, mails: readonly string[]): Promise<Figures> {
  const { shop, inventory, network } = stage;
  await reset(stage);
  const relays = [shopConfig, shopConfig, inventoryConfig].map((config) =>
    startRelay(config, { logger: false }),
  );
  await Promise.all(relays.map(({ ready }) => ready));
  const operator = operations(shopConfig);
  const messageOf = async (key: string) => (await operator.list({ key })).messages[0];
  const becomes = (id: string, status: string) =>
    until(async () => (await shop.order.findUniqueOrThrow({ where: { id } })).status === status);

  // The inventory deducts, and its answer is lost, three times. The order knows from the answer message all the same.
  network.loseAnswers();
  const first = await placeOrder(shop, 'apple', 2);
  await until(async () => (await messageOf(first))?.state === 'failed');
  await becomes(first, 'CONFIRMED');
  await network.mend();

  // A person gets a mail, cannot know whether it was deducted, and sends a copy, which has an id of its own.
  const { id = 'none', attempts } = (await messageOf(first)) ?? {};
  assert.equal(attempts, 3);
  await until(() => mails.some((mail) => mail.includes(id)));
  const payload = { orderId: first, sku: 'apple', quantity: 2 };
  const copy = await operator.edit(id, { payload, actor: 'ada', reason: 'Was it deducted?' });
  await until(async () => (await operator.show(copy.id))?.message?.state === 'published');

  // There are not that many.
  const second = await placeOrder(shop, 'apple', 100);
  await becomes(second, 'REJECTED');

  // The inventory cannot be reached: the message waits, and no try counts.
  await network.cut();
  const third = await placeOrder(shop, 'apple', 1);
  await until(async () => (await operator.status()).lanes.some(({ hold }) => hold !== null));
  assert.equal((await messageOf(third))?.attempts, 0);
  await network.mend();
  await becomes(third, 'CONFIRMED');

  // One pear, and two orders at once.
  const pears = await Promise.all([placeOrder(shop, 'pear', 1), placeOrder(shop, 'pear', 1)]);
  const undecided = () => shop.order.count({ where: { id: { in: pears }, status: 'PLACED' } });
  await until(async () => (await undecided()) === 0);

  // Two relays see one message, and one of them posts it.
  const before = network.requests();
  await becomes(await placeOrder(shop, 'apple', 1), 'CONFIRMED');
  const posts = network.requests() - before;

  // One request hangs, until the relay gives it up after its `requestTimeout` and goes on. Nobody else ends it.
  const hanging = network.hang();
  const seventh = await placeOrder(shop, 'apple', 1);
  await until(hanging.hangs);
  const eighth = await placeOrder(shop, 'apple', 1);
  const ninth = await placeOrder(shop, 'apple', 1);
  await Promise.all([becomes(eighth, 'CONFIRMED'), becomes(ninth, 'CONFIRMED')]);
  const heldUp = await shop.order.count({ where: { status: 'PLACED', id: { not: seventh } } });
  hanging.end();
  await becomes(seventh, 'CONFIRMED');

  const left = await inventory.stock.findMany({ orderBy: { sku: 'asc' } });
  await Promise.all([...relays.map((relay) => relay.stop()), operator.close()]);
  const those = async (status: string) =>
    (await shop.order.findMany({ where: { status } })).map(({ id }) => id);
  const figures = await figuresOf(stage, await those('CONFIRMED'), await those('PLACED'));
  assert.deepEqual(left, [
    { sku: 'apple', left: 8 },
    { sku: 'pear', left: 0 },
  ]);
  return { ...figures, postedAgain: posts - 1, heldUp };
}
