import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { ChannelModel } from 'amqplib';
import { operations } from 'temporal-outbox/operations';
import { startRelay } from 'temporal-outbox/relay';
import type { CrashPoint } from 'temporal-outbox/testing';
import { watchExchange } from './broker.ts';
import { declined, type Figures, figuresOf, picked, until } from './faults.ts';
import type { PrismaClient } from './generated/client.ts';
import { mailbox } from './mailbox.ts';
import { startMailer } from './mailer.ts';
import type { Network } from './network.ts';
import config from './outbox.config.ts';
import { placeOrder } from './place-order.ts';
import { startWarehouse } from './warehouse.ts';

/** Orders on the outbox, with a fault each, delivered by two relays at a time. */
export async function playStory(
  prisma: PrismaClient,
  network: Network,
  broker: ChannelModel,
): Promise<Figures & { readonly mails: number }> {
  const relays = [startRelay(config, { logger: false }), startRelay(config, { logger: false })];
  await Promise.all(relays.map(({ ready }) => ready));
  const operator = operations(config);
  const office = await mailbox();
  const mailer = await startMailer(prisma, office);

  // Nobody has a queue yet: RabbitMQ returns the message, its tries are used up, and a person gets a mail.
  const ladder = await placeOrder(prisma, 'ladder');
  const shown = (id: string) => operator.show(id);
  await until(async () => (await shown(ladder.messageId))?.message?.state === 'failed');
  assert.equal((await shown(ladder.messageId))?.message?.attempts, 3);
  await until(() => office.mails.some((mail) => mail.includes(ladder.messageId)));

  // Now there is a warehouse, so the person retries. It dies before its work is committed, the next one before it acknowledges.
  const first = await doomed('inbox:handled');
  const sent = await watchExchange(broker);
  const who = { actor: 'ada', reason: 'There is a warehouse now.' };
  const [answer] = await operator.retry({ ids: [ladder.messageId] }, who);
  assert.equal(answer?.result, 'retried');
  await first.died;
  assert.ok(await picked(prisma, ladder.messageId, 0));
  await (await doomed('inbox:committed')).died;
  assert.ok(await picked(prisma, ladder.messageId));
  const warehouse = await startWarehouse(prisma);
  await until(async () => (await warehouse.status()).duplicates === 1);

  // One order is rolled back after its message was sent.
  const hammer = placeOrder(prisma, 'hammer', () => Promise.reject(declined));
  await assert.rejects(hammer, declined);

  // One transaction is still open when the warehouse has picked a later order already.
  const drill = await placeOrder(prisma, 'drill', async () => {
    const plane = await placeOrder(prisma, 'plane');
    await until(() => picked(prisma, plane.messageId));
  });
  await until(() => picked(prisma, drill.messageId));

  // RabbitMQ is away: the order is placed, its message waits, and no try counts.
  await network.cut();
  const [nails] = await Promise.allSettled([placeOrder(prisma, 'nails')]);
  await until(async () => (await operator.status()).lanes.some(({ hold }) => hold !== null));
  await network.mend();
  if (nails.status === 'fulfilled') {
    assert.equal((await shown(nails.value.messageId))?.message?.attempts, 0);
    await until(() => picked(prisma, nails.value.messageId));
    await until(() => sent.includes(nails.value.messageId));
  }

  const refused = nails.status === 'rejected' ? 1 : 0;
  const figures = await figuresOf(prisma, { refused, copies: sent.length - new Set(sent).size });
  await Promise.all([
    warehouse.stop(),
    mailer.stop(),
    ...relays.map((relay) => relay.stop()),
    operator.close(),
  ]);
  await office.close();
  return { ...figures, mails: office.mails.length };
}

/** Starts a warehouse that dies at this point of its first message. */
async function doomed(point: CrashPoint): Promise<{ readonly died: Promise<void> }> {
  const child = fork('doomed-warehouse.ts', [point]);
  const died = once(child, 'exit').then(([, signal]) => assert.equal(signal, 'SIGKILL'));
  await Promise.race([once(child, 'message'), died]);
  return { died };
}
