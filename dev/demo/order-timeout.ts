import { payWithinMs, stockOf, type WaitingOrders } from './ordinary-orders.ts';
import type { Blackout } from './rush.ts';
import type { Scene } from './scene.ts';
import { orderTimeout } from './shop-topics.ts';
import { duration, shortId } from './wording.ts';

/** The unpaid order is canceled when its time is up, and its lamp is back in stock. */
export async function cancelWhenDue(
  scene: Scene,
  { leftUnpaid }: WaitingOrders,
  blackout: Blackout,
): Promise<void> {
  const { prisma, tell, log, signal } = scene;
  const { id, timeout } = leftUnpaid;
  const dueAt = timeout.dueAt;
  if (dueAt === null) throw new Error('The timeout of an unpaid order has no due time.');
  tell('\n6. The unpaid order is canceled when it is due');
  const leftMs = dueAt.getTime() - Date.now();
  if (leftMs > 0) tell(`   Order ${shortId(id)} has ${duration(leftMs)} of its "15 minutes" left …`);
  await scene.until(
    `the order ${id} is canceled`,
    async () => (await prisma.order.findUniqueOrThrow({ where: { id } })).status === 'CANCELED',
    payWithinMs + 60_000,
  );
  if (dueAt > blackout.from && dueAt < blackout.to)
    tell('   It was due while the relay was dead, so the next one had to deliver it.');
  const records = await log.read([orderTimeout.rules.address], signal);
  const record = records.find((one) => one.id === timeout.id);
  if (record === undefined) throw new Error('The order was canceled without a message in Kafka.');
  const effect = await prisma.effect.findFirstOrThrow({ where: { messageId: timeout.id } });
  tell(
    `   Its message was in Kafka ${duration(record.at.getTime() - dueAt.getTime())} after it was due, not before.`,
  );
  tell(
    `   ${duration(Math.max(0, effect.at.getTime() - record.at.getTime()))} later the consumer canceled the order and gave its stock back, in one transaction.`,
  );
  tell(`   Lamps left: ${await stockOf(prisma, 'lamp')}.`);
}
