// The two usual ways by hand: starting the workflow within the transaction, or after its commit. Not to be copied.
import type { Client } from '@temporalio/client';
import type { PrismaClient } from './generated/client.ts';
import { taskQueue, workflowId } from './names.ts';

const start = (client: Client, orderId: string) =>
  client.workflow.start('fulfilOrder', {
    taskQueue,
    workflowId: workflowId(orderId),
    args: ['no-message', { orderId }],
  });

/** Cannot be rolled back. @param rest what else the transaction does */
export const startWithin = (prisma: PrismaClient, client: Client, id: string, rest?: () => Promise<void>) =>
  prisma.$transaction(async (tx) => {
    await tx.order.create({ data: { id, item: 'ladder' } });
    await start(client, id);
    await rest?.();
  });

/** Is not done if the process dies in between. @param committed what happens in between */
export async function startAfter(
  prisma: PrismaClient,
  client: Client,
  id: string,
  committed?: () => void,
): Promise<void> {
  await prisma.$transaction((tx) => tx.order.create({ data: { id, item: 'ladder' } }));
  committed?.();
  await start(client, id);
}
