import assert from 'node:assert/strict';
import { PrismaPg } from '@prisma/adapter-pg';
import { Client, Connection } from '@temporalio/client';
import { env, send, transaction } from 'temporal-outbox';
import { operations } from 'temporal-outbox/operations';
import { startRelay } from 'temporal-outbox/relay';
import { kafka } from 'temporal-outbox/transports';
import { api } from './api.ts';
import { flawsByHand } from './flaws.ts';
import { PrismaClient } from './generated/client.ts';
import config from './outbox.config.ts';
import { handleTimeouts } from './timeouts.ts';
import { orderTimeout } from './topics.ts';
import { troubledBroker } from './troubled-broker.ts';
import { until } from './until.ts';

const connect = (max: number) =>
  new PrismaClient({ adapter: new PrismaPg({ connectionString: process.env['DATABASE_URL'], max }) });
const prisma = connect(10);
const worker = connect(15);
const outbox = operations(config);
const temporal = new Client({
  connection: await Connection.connect({ address: process.env['TEMPORAL_ADDRESS'] ?? 'localhost:7233' }),
});
const broker = troubledBroker(kafka({ servers: env('KAFKA_BROKERS') }));
const relay = startRelay({ ...config, transports: { kafka: broker.transport } }, { logger: false });
await relay.ready;
// The story cannot wait for the fifteen minutes of a real shop; `npm test` skips them.
const shop = api({ prisma, outbox, payWithin: '3 seconds' });

interface Shown {
  readonly status: string;
  readonly timeout: string;
  readonly workflowId: string;
  readonly workflow: string;
}
const order = async (): Promise<string> =>
  (await shop.inject({ method: 'POST', url: '/orders', payload: { productId: 'lamp' } })).json().id;
const pay = (id: string) => shop.inject({ method: 'POST', url: `/orders/${id}/payment` });
const show = async (id: string): Promise<Shown> =>
  (await shop.inject({ method: 'GET', url: `/orders/${id}` })).json();
const stock = async () => (await prisma.product.findUniqueOrThrow({ where: { id: 'lamp' } })).stock;

await prisma.product.create({ data: { id: 'lamp', stock: 100 } });

// Three orders. Each has a workflow of its own, which sleeps until its message is due.
const [paid, late, unpaid] = [await order(), await order(), await order()];
assert.equal(await stock(), 97);

// Paid in time: its timeout is never sent.
assert.deepEqual((await pay(paid)).json(), { timeout: 'canceled' });

// The others can be seen in the UI of Temporal until then.
const { workflowId, workflow } = await show(unpaid);
await until('the order is in the UI of Temporal', async () => {
  const seen = await temporal.workflow
    .getHandle(workflowId)
    .describe()
    .catch(() => undefined);
  return seen?.type === 'deliverMessage' && seen.status.name === 'RUNNING';
});
console.log(`An order that waits for its payment: ${workflow}`);

// Paid when the timeout has left, and is not handled yet: too late to cancel it, but the row is paid first.
broker.acknowledgeAfterMs = 1_000;
await until('both timeouts are sent', async () => (await show(late)).timeout === 'published');
await until('both timeouts are sent', async () => (await show(unpaid)).timeout === 'published');
broker.acknowledgeAfterMs = 0;
assert.deepEqual((await pay(late)).json(), { timeout: 'too-late' });

// Now both timeouts are handled: one finds a paid order, the other cancels. A payment after that is refused.
const timeouts = await handleTimeouts(worker);
await until('the unpaid order is canceled', async () => (await show(unpaid)).status === 'CANCELED');
assert.equal((await pay(unpaid)).statusCode, 409);
const sends = broker.asked.filter((payload) => payload.includes(unpaid)).length;

// Twenty orders are paid at the very moment when their timeouts are due: each ends once, one way or the other.
const contested = await Promise.all(Array.from({ length: 20 }, order));
await until('the first of them is due', async () =>
  (await Promise.all(contested.map(show))).some(({ timeout }) => timeout !== 'waiting'),
);
const answers = await Promise.all(contested.map(pay));
await until('all are decided', async () =>
  (await Promise.all(contested.map(show))).every(({ timeout }) => timeout !== 'waiting'),
);

// The transaction commits after its message was due: it leaves with the commit.
const slow = await transaction(prisma, async (tx) => {
  const { id } = await tx.order.create({ data: { productId: 'lamp', status: 'CANCELED' } });
  const { dueAt } = await send(tx, orderTimeout, { orderId: id }, { after: '100 ms', ref: id });
  await until('it is due', () => Date.now() > Number(dueAt) + 100);
  return id;
});
const committedAt = Date.now();
await until('it is sent', () => broker.asked.some((payload) => payload.includes(slow)));
const lateS = Math.floor((Date.now() - committedAt) / 1_000);

// The broker refuses a message: the next try is ten seconds later. A person need not wait for it.
const refused = await transaction(prisma, async (tx) => {
  const { id } = await tx.order.create({ data: { productId: 'lamp', status: 'CANCELED' } });
  broker.refuseOnce(id);
  return (await send(tx, orderTimeout, { orderId: id })).id;
});
await until('it is refused', async () => (await outbox.show(refused))?.message.state === 'retrying');
const shown = await outbox.show(refused);
const firstRetryS = Math.round((Number(shown?.message.dueAt) - Number(shown?.attempts[0]?.at)) / 1_000);
await outbox.retry({ ids: [refused] }, { actor: 'story' });
await until('it is sent', async () => (await outbox.show(refused))?.message.state === 'published');

await until('everything is handled', async () => {
  const { lag, inFlight } = await timeouts.status();
  return lag === 0 && inFlight === 0;
});
const statusOf = async (id: string) => (await show(id)).status;
assert.deepEqual(await Promise.all([paid, late, unpaid].map(statusOf)), ['PAID', 'PAID', 'CANCELED']);
const outcomes = await Promise.all(contested.map(statusOf));
assert.deepEqual(
  outcomes,
  answers.map(({ statusCode }) => (statusCode === 200 ? 'PAID' : 'CANCELED')),
);
assert.equal(await stock(), 98 - outcomes.filter((status) => status === 'PAID').length);

const hand = await flawsByHand(prisma);
const here = { lost: await prisma.order.count({ where: { status: 'UNPAID' } }), sends, lateS, firstRetryS };
assert.deepEqual(hand, { lost: 3, sends: 16, lateS: 57, firstRetryS: 30 });
assert.deepEqual(here, { lost: 0, sends: 1, lateS: 0, firstRetryS: 10 });
await relay.stop();
await timeouts.stop();
await Promise.all([outbox.close(), temporal.connection.close(), prisma.$disconnect(), worker.$disconnect()]);
console.log(
  `order-timeout: 23 orders ended once, stock is right; by hand ${hand.lost} of 3 timeouts lost, then 1 sent ` +
    `${hand.sends} times, 1 late by ${hand.lateS} s, first retry after ${hand.firstRetryS} s; here 0 lost, ` +
    `sent ${here.sends} time, late by ${here.lateS} s, retry after ${here.firstRetryS} s`,
);
