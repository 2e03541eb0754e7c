import { transaction } from '../../src/index.ts';
import type { AuditRecord } from './judge-log.ts';
import type { Scene } from './scene.ts';
import { payOrder, placeOrder, placePaidOrder, type UnpaidOrder } from './shop.ts';
import { orderEvents } from './shop-topics.ts';
import { duration, median, shortId, timeOfDay } from './wording.ts';

/** Stands for the 15 minutes to pay, to keep the demo short. */
export const payWithinMs = 30_000;

const warmOrders = 5;

/** Two unpaid orders. */
export interface WaitingOrders {
  readonly toBePaid: UnpaidOrder;
  readonly leftUnpaid: UnpaidOrder;
}

/** A committed message is published. */
export async function commitOrders(scene: Scene): Promise<void> {
  const { tell } = scene;
  tell('\n1. An order is committed, and its messages published');
  const first = await orderTeapot(scene);
  const more: CommittedOrder[] = [];
  for (let n = 0; n < warmOrders; n += 1) more.push(await orderTeapot(scene));
  const records = await scene.log.read([orderEvents.rules.address], scene.signal);
  const latencies = [first, ...more].map((order) => latencyMs(order, records));
  const [cold = 0, ...warm] = latencies;
  tell(`   Order ${shortId(first.id)}, its stock and its messages were one transaction.`);
  tell(`   From commit to Kafka: ${duration(cold)}, the start of its sleeping lane included.`);
  tell(`   ${warmOrders} more, while the lane is awake: ${duration(median(warm))} (median).`);
}

interface CommittedOrder {
  readonly id: string;
  readonly messageId: string;
  /** Time just before the commit, when everything was written. */
  readonly committingAtMs: number;
}

/** Sells a teapot and waits until the consumer has handled its message. */
async function orderTeapot(scene: Scene): Promise<CommittedOrder> {
  const order = await transaction(scene.prisma, async (tx) => {
    const { id, placed } = await placePaidOrder(tx, 'teapot');
    return { id, messageId: placed.id, committingAtMs: Date.now() };
  });
  await scene.until(`the consumer has handled order ${order.id}`, async () => {
    return (await scene.prisma.effect.count({ where: { messageId: order.messageId } })) > 0;
  });
  return order;
}

/** Time up to the broker's timestamp, in whole milliseconds; both come from the clock of this machine. */
function latencyMs({ messageId, committingAtMs }: CommittedOrder, records: readonly AuditRecord[]): number {
  const record = records.find(({ id }) => id === messageId);
  if (record === undefined) throw new Error(`The message ${messageId} was handled, but is not in Kafka.`);
  return Math.max(0, record.at.getTime() - committingAtMs);
}

class ChangedMind extends Error {}

/** A message of a rolled-back transaction is never published. */
export async function rollBackOrder({ prisma, reader, tell }: Scene): Promise<void> {
  tell('\n2. An order is rolled back, and there is no message');
  let attempted: UnpaidOrder | undefined;
  const stockBefore = await stockOf(prisma, 'teapot');
  await transaction(prisma, async (tx) => {
    attempted = await placeOrder(tx, 'teapot', payWithinMs);
    throw new ChangedMind();
  }).catch((error: unknown) => {
    if (!(error instanceof ChangedMind)) throw error;
  });
  if (attempted === undefined) throw new Error('The order was not even tried.');
  const { id, placed, timeout } = attempted;
  const rows = await reader.outboxMessage.count({ where: { id: { in: [placed.id, timeout.id] } } });
  const orders = await prisma.order.count({ where: { id } });
  const stock = await stockOf(prisma, 'teapot');
  if (rows + orders > 0 || stock !== stockBefore)
    throw new Error('The rolled back order left something behind.');
  tell(`   Order ${shortId(id)} had stored two messages when its transaction failed.`);
  tell('   Left of it: 0 orders, 0 messages, 0 pieces taken from the stock.');
}

/** A waiting message has a workflow that the Temporal UI shows. */
export async function placeUnpaidOrders(scene: Scene): Promise<WaitingOrders> {
  const { prisma, tell } = scene;
  tell('\n3. Two orders wait for their payment');
  const toBePaid = await transaction(prisma, (tx) => placeOrder(tx, 'teapot', payWithinMs));
  const leftUnpaid = await transaction(prisma, (tx) => placeOrder(tx, 'lamp', payWithinMs));
  tell(`   The shop gives 15 minutes to pay; here they are played as ${payWithinMs / 1_000} seconds.`);
  for (const [order, product] of [
    [toBePaid, 'teapot'],
    [leftUnpaid, 'lamp'],
  ] as const) {
    const link = await workflowLink(scene, order);
    const due = order.timeout.dueAt;
    tell(
      `   Order ${shortId(order.id)} (${product}) is canceled at ${due === null ? '?' : timeOfDay(due)} unless it is paid.`,
    );
    tell(`   Its workflow sleeps in Temporal: ${link}`);
  }
  tell(`   Lamps left: ${await stockOf(prisma, 'lamp')}.`);
  return { toBePaid, leftUnpaid };
}

/** The URL of the workflow in the UI, once the server lists the workflow. */
async function workflowLink(scene: Scene, { timeout }: UnpaidOrder): Promise<string> {
  const { uiUrl, namespace } = scene.servers.temporal;
  const path = `namespaces/${namespace}/workflows/${encodeURIComponent(timeout.workflowId)}`;
  await scene.until(`the workflow ${timeout.workflowId} runs`, async () => {
    const answer = await fetch(`${uiUrl}/api/v1/${path}`, { signal: AbortSignal.timeout(5_000) });
    return answer.ok && (await answer.text()).includes('WORKFLOW_EXECUTION_STATUS_RUNNING');
  });
  return `${uiUrl}/${path}`;
}

/** A payment cancels the timeout in the same commit. */
export async function payInTime({ prisma, tell }: Scene, { toBePaid }: WaitingOrders): Promise<void> {
  tell('\n4. One is paid, and its timeout canceled in the same commit');
  const answer = await transaction(prisma, (tx) => payOrder(tx, toBePaid.id));
  if (answer !== 'canceled')
    throw new Error(`The timeout of the paid order was expected to be canceled: ${answer}.`);
  tell(
    `   Order ${shortId(toBePaid.id)} is PAID; cancel() answered '${answer}'. The message will never be published.`,
  );
}

/** Remaining stock of a product. */
export async function stockOf(prisma: Scene['prisma'], id: string): Promise<number> {
  return (await prisma.product.findUniqueOrThrow({ where: { id } })).stock;
}
