import { expect, test } from 'vitest';
import { LateReply } from '../../../../src/brokers/redis/client/redis-link.ts';
import type { IncomingBatch, SourceNotice } from '../../../../src/brokers/source.ts';
import { OutboxError } from '../../../../src/core/errors.ts';
import { acknowledgeAll } from '../subscriber.ts';
import { mine, paces, stage, taken } from './source-stage.ts';

const soon = { timeout: 20_000, interval: 5 };
const orders = { address: 'orders', partition: 0 };
const notice: SourceNotice = {
  type: 'partitions-unread',
  addresses: ['orders'],
  error: new OutboxError('OUTBOX_GROUP_REFUSED', 'of another group'),
};

test('a member with the lease reads, offers, and marks as done; with nothing to read it waits for new messages', async () => {
  const { orders: queue, source, subscribe, told } = await stage();
  queue.answers.push(mine(['1', '2'], [notice]), mine(['3']));
  const batches: IncomingBatch[] = [];

  await subscribe((batch) => {
    batches.push(batch);
    acknowledgeAll(batch);
  });
  await expect.poll(() => queue.waits, soon).toEqual([paces.newsMs, paces.newsMs]);

  expect(queue.calls.slice(0, 8)).toEqual([
    'read',
    'done 1,2',
    'read',
    'done 3',
    'read',
    'news',
    'read',
    'news',
  ]);
  expect(batches.map(({ messages }) => messages.map(({ offset }) => offset))).toEqual([['1', '2'], ['3']]);
  expect(batches).toMatchObject([orders, orders]);
  expect(told).toMatchObject({ assigned: [[orders]], disconnected: [], noticed: [notice] });
  expect(new Set(queue.leases.map(({ leaseMs }) => leaseMs))).toEqual(new Set([paces.leaseMs]));
  expect(queue.leases[0]?.holder).toMatch(/^stock\/[0-9a-f-]{36}$/);
  expect([source.name, await source.redeliveryPeriodMs([])]).toEqual(['redis-test', 0]);
});

test('an unacknowledged message is read again, and only earlier ones are done', async () => {
  const { orders: queue, subscribe } = await stage();
  queue.answers.push(mine(['1', '2', '3']), mine(['2', '3']));
  let first = true;

  await subscribe((batch) => {
    for (const message of batch.messages) if (!first || message.offset !== '2') batch.acknowledge(message);
    first = false;
  });
  await expect.poll(() => queue.calls, soon).toContain('news');

  expect(queue.calls.slice(0, 6)).toEqual(['read', 'reread', 'done 1', 'read', 'done 2,3', 'read']);
});

test('nothing is done if the first message stays open', async () => {
  const { orders: queue, subscribe } = await stage();
  queue.answers.push(mine(['1', '2']));

  await subscribe(() => undefined);
  await expect.poll(() => queue.calls, soon).toContain('news');

  expect(queue.calls.slice(0, 3)).toEqual(['read', 'reread', 'read']);
});

test('after a rejection nothing more may begin, and the partition rests for the longest time with its lease', async () => {
  const { leaseCommands, orders: queue, subscribe } = await stage();
  queue.answers.push(mine(['1', '2', '3']));
  const mayBegin: boolean[] = [];

  await subscribe((batch) => {
    const [one, two, three] = batch.messages;
    if (one === undefined || two === undefined || three === undefined) return;
    mayBegin.push(batch.mayBegin());
    batch.acknowledge(one);
    batch.reject(three, 120);
    mayBegin.push(batch.mayBegin());
    batch.reject(two, 10);
    batch.acknowledge(three);
  });
  await expect.poll(() => queue.readAtMs.length, soon).toBe(2);

  expect(mayBegin).toEqual([true, false]);
  expect(queue.calls.slice(0, 4)).toEqual(['read', 'reread', 'done 1', 'read']);
  const [from = 0, to = 0] = queue.readAtMs;
  expect(to - from).toBeGreaterThanOrEqual(119);
  expect(leaseCommands()[0]).toEqual({
    kind: 'renew',
    key: 'orders:reader',
    holder: queue.leases[0]?.holder,
  });
});

test('a member without the lease joins and requests it repeatedly', async () => {
  const { orders: queue, subscribe, told } = await stage();
  queue.answers.push(taken, taken, mine(['1']));

  await subscribe();
  await expect.poll(() => queue.calls, soon).toContain('done 1');

  expect(told.assigned).toEqual([[orders]]);
  const [first = 0, second = 0, third = 0] = queue.readAtMs;
  expect(Math.min(second - first, third - second)).toBeGreaterThanOrEqual(paces.standbyMs - 1);
  expect(queue.calls.slice(0, 4)).toEqual(['read', 'read', 'read', 'done 1']);
});

test('a lease that another member has taken ends the batch, and its messages are read again', async () => {
  const { lease, orders: queue, subscribe, told } = await stage();
  queue.answers.push(mine(['1', '2']), taken, mine(['1']));
  const ended: unknown[] = [];

  await subscribe(async (batch) => {
    const [first] = batch.messages;
    if (first !== undefined) batch.acknowledge(first);
    if (batch.messages.length === 1) return;
    lease.renewed = 0;
    await new Promise((resolve) => batch.lost.addEventListener('abort', resolve));
    ended.push(batch.signal.aborted, batch.mayBegin());
    lease.renewed = 1;
  });
  await expect.poll(() => told.assigned.slice(0, 3), soon).toEqual([[orders], [], [orders]]);

  expect(ended).toEqual([true, false]);
  expect(queue.calls.slice(0, 5)).toEqual(['read', 'reread', 'reread', 'done 1', 'read']);
});

test('a lease that cannot be renewed is lost at its end, and not before', async () => {
  const { lease, orders: queue, subscribe, told } = await stage(1_000);
  queue.answers.push(mine(), mine(['1']));
  let lostAfterMs = 0;

  await subscribe(async (batch) => {
    lease.renewed = new Error('READONLY');
    await new Promise((resolve) => batch.lost.addEventListener('abort', resolve));
    lostAfterMs = performance.now() - (queue.readAtMs[1] ?? 0);
    lease.renewed = 1;
  });
  await expect.poll(() => told.assigned.length, soon).toBeGreaterThan(1);

  expect(lostAfterMs).toBeGreaterThan(400);
});

test('a failed read is reported with the time until the next, which doubles up to the longest', async () => {
  const { orders: queue, subscribe, told } = await stage();
  const error = new Error('OOM');
  queue.answers.push(mine(['1']), ...Array.from({ length: 4 }, () => error), mine(['2']), error, mine(['3']));

  await subscribe();
  await expect.poll(() => queue.calls, soon).toContain('done 3');

  expect(told.disconnected).toEqual([5, 10, 20, 20, 5].map((ms) => [error, ms]));
  expect(queue.calls.slice(0, 5)).toEqual(['read', 'done 1', 'read', 'reread', 'read']);
  const [, first = 0, , , fourth = 0, fifth = 0] = queue.readAtMs;
  expect(fourth - first).toBeGreaterThanOrEqual(10 + 20 - 3);
  expect(fifth - fourth).toBeGreaterThanOrEqual(20 - 1);
  // Its lease lasts longer than that, and each answer of the server in between is reported.
  expect(told.assigned).toEqual([[orders], [orders], [orders]]);
});

test('a lease that ends while reads fail is lost', async () => {
  const { orders: queue, subscribe, told } = await stage(100);
  queue.answers.push(mine(['1']), ...Array.from({ length: 60 }, () => new Error('OOM')));

  await subscribe();

  await expect.poll(() => told.assigned.slice(0, 3), soon).toEqual([[orders], [], [orders]]);
});

test('after a late reply the next read requests fewer messages', async () => {
  const { orders: queue, subscribe } = await stage();
  const full = Array.from({ length: 32 }, (_, n) => `${n}`);
  queue.answers.push(mine(full), new LateReply('late'), new Error('other'), mine(), mine());

  await subscribe(acknowledgeAll, { batchSize: 1_000 });
  await expect.poll(() => queue.asked.length, soon).toBeGreaterThan(3);

  expect(queue.asked.slice(0, 4)).toEqual([32, 64, 32, 32]);
});

test('a batch is never larger than the subscription allows', async () => {
  const { orders: queue, subscribe } = await stage();

  await subscribe(acknowledgeAll, { batchSize: 3 });

  expect(queue.asked[0]).toBe(3);
});

test('a batch says that it was cut if the reply was full, or the queue reads on only behind what is done', async () => {
  const { orders: queue, subscribe } = await stage();
  // The first reply has at most 32 of the 100 that are wanted.
  const full = Array.from({ length: 32 }, (_, n) => String(n));
  queue.answers.push(mine(full), mine(['32', '33']));
  const cut: (boolean | undefined)[] = [];

  await subscribe((batch) => {
    cut.push(batch.cut);
    acknowledgeAll(batch);
  });
  await expect.poll(() => cut, soon).toEqual([true, false]);
  queue.readsOn = false;
  queue.answers.push(mine(['34']));

  await expect.poll(() => cut, soon).toEqual([true, false, true]);
});
