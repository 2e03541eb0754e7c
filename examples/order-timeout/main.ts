import assert from 'node:assert/strict';
import { PrismaPg } from '@prisma/adapter-pg';
import { Client, Connection } from '@temporalio/client';
import { env } from 'temporal-outbox';
import { operations } from 'temporal-outbox/operations';
import { startRelay } from 'temporal-outbox/relay';
import { kafka } from 'temporal-outbox/transports';
import { api } from './api.ts';
import { commitLate, refuse, restart } from './faults.ts';
import { type Figures, flawsByHand } from './flaws.ts';
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
const start = () => startRelay({ ...config, transports: { kafka: broker.transport } }, { logger: false });
// Two instances. Your own relay is a process of its own: `temporal-outbox relay`.
const relays = [start(), start()];
await Promise.all(relays.map(({ ready }) => ready));
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
const sleeps = (id: string): Promise<void> =>
  until('the order is in the UI of Temporal', async () => {
    const handle = temporal.workflow.getHandle((await show(id)).workflowId);
    const seen = await handle.describe().catch(() => undefined);
    return seen?.type === 'deliverMessage' && seen.status.name === 'RUNNING';
  });
await sleeps(unpaid);
console.log(`An order that waits for its payment: ${(await show(unpaid)).workflow}`);

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
const copies = broker.asked.filter((payload) => payload.includes(unpaid)).length;

// Twenty orders are paid at the very moment when their timeouts are due: each ends once, one way or the other.
const contested = await Promise.all(Array.from({ length: 20 }, order));
await until('the first of them is due', async () =>
  (await Promise.all(contested.map(show))).some(({ timeout }) => timeout !== 'waiting'),
);
const answers = await Promise.all(contested.map(pay));
await until('all are decided', async () =>
  (await Promise.all(contested.map(show))).every(({ timeout }) => timeout !== 'waiting'),
);

const stage = { prisma, outbox, broker, start, sleeps };
const committedLate = await commitLate(stage);
const firstRetryS = await refuse(stage);
const [dueWhileDown, relay] = await restart(stage, relays);
const asked = (id: string): boolean => broker.asked.some((payload) => payload.includes(id));
await until('both are sent', () => asked(committedLate) && asked(dueWhileDown));
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

const here: Figures = {
  lost: await prisma.order.count({ where: { status: 'UNPAID' } }),
  lostByCommit: asked(committedLate) ? 0 : 1,
  lostByRestart: asked(dueWhileDown) ? 0 : 1,
  copies,
  paidAndCanceled: answers.filter(({ statusCode }, n) => statusCode === 200 && outcomes[n] !== 'PAID').length,
  firstRetryS,
};
await relay.stop();
await timeouts.stop();
const hand = await flawsByHand(prisma);
await Promise.all([outbox.close(), temporal.connection.close(), prisma.$disconnect(), worker.$disconnect()]);
const never = { lost: 0, lostByCommit: 0, lostByRestart: 0, paidAndCanceled: 0 };
assert.deepEqual(here, { ...never, copies: 1, firstRetryS: 10 });
assert.deepEqual(hand, {
  lost: 3,
  lostByCommit: 1,
  lostByRestart: 1,
  copies: 2,
  paidAndCanceled: 1,
  firstRetryS: 30,
});
console.log(
  `order-timeout: 24 orders ended once, stock is right; by hand ${hand.lost} of 3 timeouts lost; with that put right ` +
    `${hand.lostByCommit} lost by a late commit, ${hand.lostByRestart} by a restart, 1 sent ${hand.copies} times, ` +
    `${hand.paidAndCanceled} order paid and canceled, first retry after ${hand.firstRetryS} s; here 0, 0, 0, ` +
    `sent ${here.copies} time, ${here.paidAndCanceled}, after ${here.firstRetryS} s`,
);
