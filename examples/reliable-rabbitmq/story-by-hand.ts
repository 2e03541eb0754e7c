import assert from 'node:assert/strict';
import type { ChannelModel } from 'amqplib';
import { orderService, startHandWarehouse } from './by-hand.ts';
import { declined, type Figures, figuresOf, stored, until } from './faults.ts';
import type { PrismaClient } from './generated/client.ts';

/** The same orders and the same faults by hand. The job of every minute runs when the story says so. */
export async function playStoryByHand(prisma: PrismaClient, broker: ChannelModel): Promise<Figures> {
  const shop = await orderService(prisma, broker);

  const ladder = await shop.place('ladder', (confirmed) => confirmed);
  for (let minute = 1; minute <= 3; minute += 1) await shop.rescan();
  const row = await prisma.handMessage.findUniqueOrThrow({ where: { id: ladder.messageId } });
  assert.equal(row.status, 3);

  await startHandWarehouse(prisma, broker, 'dies');
  await shop.resend(ladder.messageId);
  await until(() => stored(prisma, ladder.messageId));
  const warehouse = await startHandWarehouse(prisma, broker);
  await until(() => warehouse.repeats() === 1);

  const hammer = shop.place('hammer', async (confirmed) => {
    await confirmed;
    throw declined;
  });
  await assert.rejects(hammer, declined);

  // Stored by the warehouse and confirmed before the commit. The confirmation found no row: it stays "sending", and is sent
  // again. No second order is placed meanwhile, because whether it suffers the same is a matter of timing.
  await shop.place('drill', async (confirmed) => {
    await confirmed;
    await until(async () => (await prisma.picking.count()) === 3);
  });
  await shop.rescan();
  await until(() => warehouse.repeats() === 2);

  await warehouse.stop();
  return figuresOf(prisma, warehouse.repeats());
}
