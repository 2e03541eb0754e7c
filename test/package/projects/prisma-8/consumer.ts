// Consumes three messages with Prisma 8. The broker is of this process, so each start gets all of them again. The first argument
// says at which message, and when, the process is killed: `2-handled`, `2-committed` or `none`.

import { send } from 'temporal-outbox';
import { consumer } from 'temporal-outbox/consumer';
import { memoryBroker } from 'temporal-outbox/testing';
import { client, db, orderPlaced, orderShipped } from './shop.js';

const [, , killed = 'none'] = process.argv;

const broker = memoryBroker();
for (const n of ['1', '2', '3'])
  broker.append(orderPlaced.name, {
    key: 'k',
    body: JSON.stringify({ orderId: n }),
    headers: { ce_id: `id-${n}`, ce_type: orderPlaced.name },
  });

const dieAt = (step: string): void => {
  if (step === killed) process.kill(process.pid, 'SIGKILL');
};

const running = await consumer(client, {
  config: {
    database: { url: process.env['DATABASE_URL'] ?? '' },
    topics: [orderPlaced, orderShipped],
    transports: { kafka: broker },
  },
  group: 'shipping',
  quickRetries: ['10ms'],
})
  .use(async ({ messages: [message] }, next) => {
    await next();
    dieAt(`${message.id.slice(3)}-committed`);
  })
  .on(orderPlaced, async (tx, { payload: { orderId }, attempt }) => {
    await tx.orm.public.Order.create({ id: orderId });
    await send(tx, orderShipped, { orderId }, { key: orderId });
    // A statement that fails, and whose error is caught, rolls back what was handled.
    if (attempt === 1) await tx.orm.public.Order.create({ id: orderId }).catch(() => undefined);
    dieAt(`${orderId}-handled`);
  })
  .start();

for (;;) {
  const { handled, duplicates, parked, failedAttempts } = running.counts();
  if (handled + duplicates + parked === 3) {
    const status = await running.status();
    await running.stop();
    await db.close();
    process.stdout.write(
      JSON.stringify({ handled, duplicates, parked, failedAttempts, failed: status.failed }),
    );
    break;
  }
  await new Promise((resolve) => setTimeout(resolve, 20));
}
