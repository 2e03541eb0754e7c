import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { operations } from 'temporal-outbox/operations';
import { startRelay } from 'temporal-outbox/relay';
import { declined, type Figures, figuresOf, stored, until } from './faults.ts';
import type { PrismaClient } from './generated/client.ts';
import config from './outbox.config.ts';
import { placeOrder } from './place-order.ts';
import { startWarehouse } from './warehouse.ts';

/** Four orders on the outbox, with one fault each; three of them commit. */
export async function playStory(prisma: PrismaClient): Promise<Figures> {
  const relay = startRelay(config, { logger: false });
  await relay.ready;
  const operator = operations(config);

  // Nobody has a queue yet: RabbitMQ returns the message, its tries are used up, a person is needed.
  const ladder = await placeOrder(prisma, 'ladder');
  const shown = () => operator.show(ladder.messageId);
  await until(async () => (await shown())?.message.state === 'failed');
  assert.equal((await shown())?.message.attempts, 3);

  // Now there is a warehouse, so the person retries. It dies when the message is stored, before it is acknowledged.
  const doomed = fork('doomed-warehouse.ts');
  await once(doomed, 'message');
  const who = { actor: 'ada', reason: 'There is a warehouse now.' };
  const [answer] = await operator.retry({ ids: [ladder.messageId] }, who);
  assert.equal(answer?.result, 'retried');
  const [, signal] = await once(doomed, 'exit');
  assert.equal(signal, 'SIGKILL');
  const warehouse = await startWarehouse(prisma);
  const repeats = async () => (await warehouse.status()).duplicates;
  await until(async () => (await repeats()) === 1);

  // One order is rolled back after its message was sent.
  const hammer = placeOrder(prisma, 'hammer', () => Promise.reject(declined));
  await assert.rejects(hammer, declined);

  // One transaction is still open when a later order is stored by the warehouse already.
  const drill = await placeOrder(prisma, 'drill', async () => {
    const nails = await placeOrder(prisma, 'nails');
    await until(() => stored(prisma, nails.messageId));
  });
  await until(() => stored(prisma, drill.messageId));

  const figures = await figuresOf(prisma, await repeats());
  await Promise.all([warehouse.stop(), relay.stop(), operator.close()]);
  return figures;
}
