import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Client, Connection, WorkflowNotFoundError } from '@temporalio/client';
import { startRelay } from 'temporal-outbox/relay';
import { startWithin } from './by-hand.ts';
import { connect } from './connect.ts';
import { workflowId } from './names.ts';
import { payOrder, placeOrder } from './orders.ts';
import config from './outbox.config.ts';
import { startWorker } from './worker.ts';

const address = process.env['TEMPORAL_ADDRESS'] ?? 'localhost:7233';
const prisma = connect();
const connection = await Connection.connect({ address });
const client = new Client({ connection });
const handleOf = (orderId: string) => client.workflow.getHandle(workflowId(orderId));
const declined = new Error('The card is declined.');
const declines = () => Promise.reject(declined);

/** Places an order in a process that dies right after the commit. */
async function placeAndDie(way: 'outbox' | 'by-hand'): Promise<string> {
  const id = randomUUID();
  const [, signal] = await once(fork('doomed-shop.ts', [way, id]), 'exit');
  assert.equal(signal, 'SIGKILL');
  return id;
}

/** Orders without a workflow, and workflows without an order. */
async function compare(ids: readonly string[]): Promise<{ lost: number; ghosts: number }> {
  let lost = 0;
  let ghosts = 0;
  for (const id of ids) {
    const ordered = (await prisma.order.count({ where: { id } })) === 1;
    const started = await handleOf(id)
      .describe()
      .then(
        () => true,
        (error: unknown) => {
          if (error instanceof WorkflowNotFoundError) return false;
          throw error;
        },
      );
    if (ordered && !started) lost += 1;
    if (started && !ordered) ghosts += 1;
  }
  return { lost, ghosts };
}

// Here. The relay starts when the process is dead already: only the row can tell it.
const worker = await startWorker(prisma, address);
const ladder = await placeAndDie('outbox');
const hammer = randomUUID();
await assert.rejects(placeOrder(prisma, hammer, declines), declined);
const relay = startRelay(config, { logger: false });
await relay.ready;
await payOrder(prisma, ladder);
// One more, whose signal may arrive before its start: two topics have no order between them.
const drill = randomUUID();
await placeOrder(prisma, drill);
await payOrder(prisma, drill);
while ((await compare([ladder, drill])).lost > 0) await delay(50);
for (const id of [ladder, drill]) assert.equal(await handleOf(id).result(), 'shipped');
const here = await compare([ladder, hammer, drill]);
const shipments = await prisma.shipment.findMany();
assert.deepEqual(shipments.map(({ orderId }) => orderId).toSorted(), [ladder, drill].toSorted());
await relay.stop();

// By hand, with the same faults.
const handLadder = await placeAndDie('by-hand');
const handHammer = randomUUID();
await assert.rejects(startWithin(prisma, client, handHammer, declines), declined);
const after = await compare([handLadder]);
const within = await compare([handHammer]);
await handleOf(handHammer).terminate('It has no order.');

await worker.stop();
await Promise.all([connection.close(), prisma.$disconnect()]);
assert.deepEqual(here, { lost: 0, ghosts: 0 });
assert.deepEqual(after, { lost: 1, ghosts: 0 });
assert.deepEqual(within, { lost: 0, ghosts: 1 });
console.log(
  `your-workflow: ${shipments.length} orders shipped once by their workflows;` +
    ` by hand: ${after.lost} never started after the commit, ${within.ghosts} started for an order that was rolled back;` +
    ` here: ${here.lost} and ${here.ghosts}`,
);
