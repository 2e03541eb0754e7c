// Sends, cancels and consumes as the README says, then prints what happened.
import { setTimeout as delay } from 'node:timers/promises';
import { PrismaPg } from '@prisma/adapter-pg';
import { cancel, OutboxError, send, transaction } from 'temporal-outbox';
import { consumer } from 'temporal-outbox/consumer';
import { operations } from 'temporal-outbox/operations';
import { PrismaClient } from './generated/client.js';
import config from './outbox.config.js';
import { orderPlaced, orderTimeout } from './topics.js';

const prisma = new PrismaClient({
  adapter: new PrismaPg({ connectionString: process.env['DATABASE_URL'] ?? '' }),
});

async function play(): Promise<unknown> {
  const orders = await consumer(prisma, { config, group: `shop${process.env['TOPICS_SUFFIX'] ?? ''}` })
    .on(orderPlaced, (tx, { payload }) =>
      tx.order.update({ where: { id: payload.orderId }, data: { status: 'SEEN' } }),
    )
    .on(orderTimeout, (tx, { payload }) =>
      tx.order.update({ where: { id: payload.orderId }, data: { status: 'LATE' } }),
    )
    .start();
  const waiting = await transaction(prisma, async (tx) => {
    const { id } = await tx.order.create({ data: { id: 'order-1' } });
    await send(tx, orderPlaced, { orderId: id }, { key: id });
    return send(tx, orderTimeout, { orderId: id }, { after: '15 minutes', ref: id });
  });
  const answer = await transaction(prisma, (tx) => cancel(tx, orderTimeout, 'order-1'));
  const refused: unknown = await transaction(prisma, (tx) =>
    // @ts-expect-error -- the schema wants a text
    send(tx, orderPlaced, { orderId: 1 }),
  ).catch((error: unknown) => error);
  while ((await prisma.order.findUniqueOrThrow({ where: { id: 'order-1' } })).status === 'NEW')
    await delay(50);
  await orders.stop();
  const operator = operations(config);
  const shown = await operator.show(waiting.id);
  await operator.close();
  await prisma.$disconnect();
  return {
    answer,
    processed: orders.counts().handled,
    refused: refused instanceof OutboxError ? refused.code : String(refused),
    timeout: shown?.message?.state,
  };
}

play().then(
  (played) => process.stdout.write(JSON.stringify(played)),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
