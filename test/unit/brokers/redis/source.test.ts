import { expect, test } from 'vitest';
import { acknowledgeAll } from '../subscriber.ts';
import { mine, stage, taken } from './source-stage.ts';

const soon = { timeout: 20_000, interval: 5 };
const place = { address: 'orders', partition: 0 };

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
  expect(told.assigned).toEqual([[place], [place], [place]]);
});

test('a lease that ends while reads fail is lost', async () => {
  const { orders: queue, subscribe, told } = await stage(100);
  queue.answers.push(mine(['1']), ...Array.from({ length: 20 }, () => new Error('OOM')));

  await subscribe();

  await expect.poll(() => told.assigned.slice(0, 3), soon).toEqual([[place], [], [place]]);
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

test('a stop does not wait for new messages, and without the lease it releases none', async () => {
  const idle = await stage();
  const first = await idle.subscribe();
  await expect.poll(() => idle.orders.calls, soon).toContain('news');
  const standby = await stage();
  standby.orders.lasting = taken;
  const second = await standby.subscribe();

  await Promise.all([first.stop(), second.stop()]);

  expect(idle.told.disconnected).toEqual([]);
  expect(idle.leaseCommands().map(({ kind }) => kind)).toEqual(['release']);
  expect(standby.leaseCommands()).toEqual([]);
});

test('a lease that cannot be released expires: the stop still ends', async () => {
  const { lease, orders: queue, subscribe } = await stage();
  lease.released = new Error('READONLY');
  const subscribed = await subscribe();
  await expect.poll(() => queue.calls, soon).toContain('news');

  await expect(subscribed.stop()).resolves.toBeUndefined();
});

test('at most as many addresses are handled at a time as the concurrency allows, and all are assigned', async () => {
  const { bills, orders, subscribe, told } = await stage();
  for (const queue of [orders, bills]) queue.answers.push(mine(['1']), mine(['2']), mine(['3']));
  let running = 0;
  let most = 0;
  let handled = 0;

  await subscribe(
    async (batch) => {
      most = Math.max(most, (running += 1));
      await new Promise((resolve) => setImmediate(resolve));
      acknowledgeAll(batch);
      running -= 1;
      handled += 1;
    },
    { addresses: ['orders', 'bills'] },
  );
  await expect.poll(() => handled, soon).toBe(6);

  expect(most).toBe(1);
  expect(told.assigned.at(-1)).toEqual([
    { address: 'orders', partition: 0 },
    { address: 'bills', partition: 0 },
  ]);
});

test('the lag is given for each address, or the reason why not', async () => {
  const { bills, server, subscribe } = await stage();
  bills.messages = 8;
  const subscribed = await subscribe(acknowledgeAll, { addresses: ['orders', 'bills'] });

  expect(await subscribed.lag()).toEqual([
    { address: 'orders', partition: 0, messages: 3 },
    { address: 'bills', partition: 0, messages: 8 },
  ]);
  bills.lag = () => Promise.reject(new Error('NOPERM'));
  await expect(subscribed.lag()).rejects.toMatchObject({
    code: 'OUTBOX_SERVER_UNAVAILABLE',
    message: expect.stringContaining(`127.0.0.1:${server.port}: NOPERM`),
  });
});

test('the signal ends the wait for the first join with its reason', async () => {
  const { orders, subscribe } = await stage();
  const over = new AbortController();
  orders.failure = new Error('LOADING');
  const joined = subscribe(acknowledgeAll, { signal: over.signal });
  await expect.poll(() => orders.calls, soon).toContain('reread');

  over.abort(new Error('stopped by the program'));

  await expect(joined).rejects.toThrow('stopped by the program');
});

test('a group that cannot read all of its addresses in time fails with the reason and leaves nothing open', async () => {
  const { bills, server, subscribe, told } = await stage();
  bills.failure = new Error('LOADING');
  const addresses = ['orders', 'bills'];
  const began = performance.now();

  // As long as a busy machine needs to learn the reason.
  const joining = subscribe(acknowledgeAll, { addresses, joinWithinMs: 2_000 });

  await expect(joining).rejects.toMatchObject({
    code: 'OUTBOX_SERVER_UNAVAILABLE',
    message: expect.stringMatching(/^The group "stock" could not be joined at .*LOADING/),
    details: { group: 'stock', addresses },
  });
  expect(performance.now() - began).toBeGreaterThan(1_990);
  expect(told.disconnected.length).toBeGreaterThan(0);
  await expect.poll(() => server.connections().open, soon).toBe(0);
});
