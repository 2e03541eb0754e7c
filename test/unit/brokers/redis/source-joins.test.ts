import { expect, test } from 'vitest';
import type { IncomingBatch } from '../../../../src/brokers/source.ts';
import { OutboxError } from '../../../../src/core/errors.ts';
import { acknowledgeAll } from '../subscriber.ts';
import { mine, type Stage, stage, taken } from './source-stage.ts';

const soon = { timeout: 20_000, interval: 5 };

test('a stop ends the batch without losing it: finished messages are marked, the lease is released, nothing stays open', async () => {
  const { leaseCommands, orders: queue, server, subscribe } = await stage();
  queue.answers.push(mine(['1', '2']));
  const batches: IncomingBatch[] = [];
  const subscribed = await subscribe(async (batch) => {
    batches.push(batch);
    if (!batch.signal.aborted)
      await new Promise((resolve) => batch.signal.addEventListener('abort', resolve));
    acknowledgeAll(batch);
  });
  await expect.poll(() => batches.length, soon).toBe(1);

  await subscribed.stop();

  expect(batches[0]?.lost.aborted).toBe(false);
  expect(batches[0]?.mayBegin()).toBe(false);
  expect(queue.calls).toEqual(['read', 'done 1,2']);
  expect(leaseCommands().at(-1)).toEqual({
    kind: 'release',
    key: 'orders:reader',
    holder: queue.leases[0]?.holder,
  });
  await expect.poll(() => server.connections().open, soon).toBe(0);
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

/** Waits for the join no longer than it takes until the reason for its failure is there. */
async function refusedJoin({ subscribe }: Stage, addresses: readonly string[], known: () => boolean) {
  for (let joinWithinMs = 50; ; joinWithinMs *= 3) {
    const error: unknown = await subscribe(acknowledgeAll, { addresses, joinWithinMs }).catch(
      (refused: unknown) => refused,
    );
    if (known() || joinWithinMs > 20_000) return error;
  }
}

test('a group that cannot read all of its addresses in time fails with the reason and leaves nothing open', async () => {
  const one = await stage();
  one.bills.failure = new Error('LOADING');
  const addresses = ['orders', 'bills'];

  const error = await refusedJoin(one, addresses, () => one.told.disconnected.length > 0);

  expect(error).toMatchObject({
    code: 'OUTBOX_SERVER_UNAVAILABLE',
    message: expect.stringMatching(/^The group "stock" could not be joined at .*LOADING/),
    details: { group: 'stock', addresses },
  });
  await expect.poll(() => one.server.connections().open, soon).toBe(0);
});

test('a group that may not read an address fails with an error of its own', async () => {
  const one = await stage();
  const refused = new OutboxError('OUTBOX_GROUP_REFUSED', 'of another group');
  one.orders.refused = refused;
  one.orders.lasting = taken;

  const error = await refusedJoin(one, ['orders'], () => one.told.disconnected.length > 0);

  expect(error).toBe(refused);
  expect(one.told.disconnected[0]).toEqual([refused, 5]);
});

test('a server without an answer is reported as such', async () => {
  const one = await stage();
  one.lease.mute = true;

  const error = await refusedJoin(one, ['orders'], () => true);

  expect(error).toMatchObject({
    code: 'OUTBOX_SERVER_UNAVAILABLE',
    message: expect.stringContaining('no answer'),
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
