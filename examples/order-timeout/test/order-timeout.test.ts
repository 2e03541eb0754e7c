import { PrismaPg } from '@prisma/adapter-pg';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { operations } from 'temporal-outbox/operations';
import { startRelay } from 'temporal-outbox/relay';
import { expect, test } from 'vitest';
import { PrismaClient } from '../generated/client.ts';
import { payOrder, placeOrder } from '../orders.ts';
import config from '../outbox.config.ts';
import { handleTimeouts } from '../timeouts.ts';
import { orderTimeout } from '../topics.ts';
import { until } from '../until.ts';
import { followTime, skippingServer } from './skipped-time.ts';

const minuteMs = 60_000;
const connectionString = process.env['DATABASE_URL'];

test('an order has fifteen minutes to be paid', async ({ onTestFinished }) => {
  const server = await skippingServer();
  onTestFinished(() => server.teardown());
  const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString, max: 20 }) });
  onTestFinished(() => prisma.$disconnect());
  const outbox = operations(config);
  onTestFinished(() => outbox.close());
  const workers = await followTime(prisma, server);
  const relay = startRelay({ ...config, temporal: { address: server.address } }, { workers, logger: false });
  onTestFinished(() => relay.stop());
  await relay.ready;
  const timeouts = await handleTimeouts(prisma);
  onTestFinished(() => timeouts.stop());
  const statusOf = async (id: string) => (await prisma.order.findUniqueOrThrow({ where: { id } })).status;

  await prisma.product.create({ data: { id: 'lamp', stock: 10 } });
  const paid = await placeOrder(prisma, 'lamp');
  const unpaid = await placeOrder(prisma, 'lamp');
  const workflowId = await sleepingWorkflow(outbox, server, unpaid);

  await server.sleep(14 * minuteMs);
  expect(await payOrder(prisma, paid)).toBe('canceled');
  expect(await statusOf(unpaid)).toBe('UNPAID');
  expect(await prisma.product.findMany()).toMatchObject([{ stock: 8 }]);

  // Skips until the workflow ends.
  await server.client.workflow.getHandle(workflowId).result();
  await until('it is canceled', async () => (await statusOf(unpaid)) === 'CANCELED');
  expect(await statusOf(paid)).toBe('PAID');
  expect(await prisma.product.findMany()).toMatchObject([{ stock: 9 }]);
  const skippedMs = (await server.currentTimeMs()) - Date.now();
  expect(skippedMs).toBeGreaterThan(14 * minuteMs);
  expect(skippedMs).toBeLessThan(17 * minuteMs);
});

/** The workflow of an order's timeout, once it sleeps. */
async function sleepingWorkflow(
  outbox: ReturnType<typeof operations>,
  server: TestWorkflowEnvironment,
  orderId: string,
): Promise<string> {
  const { messages } = await outbox.list({ topic: orderTimeout.name, ref: orderId });
  const workflowId = messages[0]?.workflowId ?? '';
  await until('the workflow sleeps', async () => {
    const seen = await server.client.workflow
      .getHandle(workflowId)
      .describe()
      .catch(() => undefined);
    return (seen?.historyLength ?? 0) >= 5;
  });
  return workflowId;
}
