import assert from 'node:assert/strict';
import { orderService, type Slowness, status } from './by-hand.ts';
import { declined, type Figures, figuresOf, picked, until } from './faults.ts';
import type { PrismaClient } from './generated/client.ts';
import { startHandWarehouse } from './hand-warehouse.ts';
import type { Network } from './network.ts';

/** The same faults by hand, one order after the other. The job of every minute runs when the story says so. */
export async function playStoryByHand(prisma: PrismaClient, network: Network): Promise<Figures> {
  const slow: Slowness = { confirmations: Promise.resolve() };
  const shop = orderService(prisma, network.url, slow);
  const statusOf = async (id: string) => (await prisma.handMessage.findUnique({ where: { id } }))?.status;
  const confirmed = (id: string, times: number) =>
    until(() => shop.confirmed.filter((one) => one === id).length === times);
  const startWarehouse = startHandWarehouse.bind(undefined, prisma, network.url);

  // Nobody has a queue yet. RabbitMQ returns the message, which nobody hears, and confirms it: "delivered", and gone.
  const ladder = await shop.place('ladder');
  await confirmed(ladder.messageId, 1);
  assert.equal(await statusOf(ladder.messageId), status.delivered);

  // Delivered and confirmed before the commit: neither finds the row. Then two instances of the job find it, and both send it.
  let warehouse = await startWarehouse();
  const drill = await shop.place('drill', async (id) => {
    await confirmed(id, 1);
    await until(() => warehouse.unknown.includes(id));
  });
  const unknown = warehouse.unknown;
  await warehouse.stop();
  const bothHaveRead = meetingOf(2);
  await Promise.all([shop.rescan(bothHaveRead), shop.rescan(bothHaveRead)]);
  await confirmed(drill.messageId, 3);
  warehouse = await startWarehouse();
  await until(() => warehouse.repeats() === 2);
  assert.ok(await picked(prisma, drill.messageId));

  // Rolled back after the publish. The warehouse knows nothing of the message, now and whenever it starts again.
  const hammer = shop.place('hammer', async (id) => {
    await until(() => warehouse.unknown.includes(id));
    throw declined;
  });
  await assert.rejects(hammer, declined);
  unknown.push(...warehouse.unknown);
  await warehouse.stop();

  // Acknowledged, and then the warehouse dies, before its work.
  warehouse = await startWarehouse('dies before its work');
  await shop.place('saw');
  await until(() => warehouse.dead());
  await warehouse.stop();

  // The confirmation comes later than the warehouse, and writes "delivered" over "stored". So a repeat is not recognized.
  const confirm = hold(slow);
  warehouse = await startWarehouse('its acknowledgement is lost');
  const plane = await shop.place('plane');
  await until(() => picked(prisma, plane.messageId));
  await warehouse.stop();
  assert.equal(await statusOf(plane.messageId), status.stored);
  confirm();
  await confirmed(plane.messageId, 1);
  assert.equal(await statusOf(plane.messageId), status.delivered);
  warehouse = await startWarehouse();
  await until(() => picked(prisma, plane.messageId, 2));
  await warehouse.stop();

  // The job has read the row while its confirmation is late, and writes "sending" over "stored".
  const confirmLater = hold(slow);
  const chisel = await shop.place('chisel');
  await shop.rescan(async () => {
    warehouse = await startWarehouse();
    await until(() => picked(prisma, chisel.messageId));
  });
  await until(() => picked(prisma, chisel.messageId, 2));
  confirmLater();
  await confirmed(chisel.messageId, 2);
  // The one without an order is still there, at the fifth start.
  assert.equal(warehouse.unknown.length, 1);
  await Promise.all([warehouse.stop(), shop.stop()]);

  // RabbitMQ is away, so publishing fails, and with it the transaction.
  await network.cut();
  const [nails] = await Promise.allSettled([shop.place('nails')]);
  await network.mend();

  const refused = nails.status === 'rejected' ? 1 : 0;
  const copies = shop.published.length - new Set(shop.published).size;
  return figuresOf(prisma, { unknown, refused, copies });
}

/** Holds all confirmations until the result is called. */
function hold(slow: Slowness): () => void {
  let release = () => {};
  slow.confirmations = new Promise((resolve) => {
    release = resolve;
  });
  return release;
}

/** Resolves for all when so many have called it. */
function meetingOf(size: number): () => Promise<void> {
  let there = 0;
  return () => {
    there += 1;
    return until(() => there === size);
  };
}
