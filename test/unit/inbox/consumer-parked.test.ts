import { setImmediate as turn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import type { KeyDrains } from '../../../src/inbox/ports.ts';
import { fakeTimeUntilEnd, pass } from '../../support/fixtures/fake-time.ts';
import { gate } from '../../support/fixtures/gate.ts';
import { consumerBench, numbered, numbers } from './consumer-bench.ts';
import { begun } from './drain-bench.ts';

/** A parked key that waits for its workflow. */
const wanted = {
  keyId: 'key-1',
  workflowId: 'workflow-1',
  topic: 'orders',
  key: 'k',
  dueInMs: 0,
  replace: 'never',
  toldAt: null,
};

const drainsOf = ({ drains }: { readonly drains: KeyDrains }, keyId = 'key-1') =>
  drains.drain(keyId, new AbortController().signal, () => undefined);

test('the host of workflows gets the installation, the group and the number of concurrent keys', async () => {
  const { consumer, plan } = await consumerBench({ settings: { parkedConcurrency: 3 } });
  const running = await consumer.start();
  onTestFinished(() => running.stop());

  expect(plan()).toMatchObject({ installation: 'installation-1', group: 'shop', concurrency: 3 });
});

test('a parked message is tried by the handler of its source, counted, confirmed there, and limited by the slots', async () => {
  const handled: number[] = [];
  const { open, opened } = gate();
  const { consumer, database, plan, receipts } = await consumerBench({
    topics: [
      numbers('stock', { confirm: { group: 'shop', receiptTimeout: '1h' } }),
      numbers('orders', { confirm: { group: 'shop', receiptTimeout: '1h' } }),
    ],
    sourceOf: { orders: 1 },
    settings: { parkedConcurrency: 1 },
    handler: async (n) => {
      await opened;
      handled.push(n);
    },
  });
  const running = await consumer.start();
  onTestFinished(() => running.stop());
  const tries = [[begun(1)], [begun(2)]];
  database.on('outbox.begin_try', () => tries.shift() ?? []);
  const drains = [drainsOf(plan()), drainsOf(plan(), 'key-2')];
  await turn();
  expect(database.said('outbox.begin_try')).toHaveLength(1);
  open();
  await Promise.all(drains);

  expect(handled).toEqual([1, 2]);
  expect(running.counts().handled).toBe(2);
  expect(receipts).toEqual([
    ['orders', 'id-1'],
    ['orders', 'id-2'],
  ]);
});

test('a parked message that finally fails is copied at once', async () => {
  const { consumer, database, plan, told } = await consumerBench({
    settings: { deadLetters: true, quickRetries: [], retry: [] },
    handler: () => Promise.reject(new Error('no')),
  });
  fakeTimeUntilEnd();
  const running = await consumer.start();
  await pass(100);
  const rounds = (): number => database.said('from outbox.parked p').length;
  const before = rounds();
  database.on('outbox.begin_try', () => [begun(1)]);
  database.on('outbox.fail_try', () => [{ kind: 'gone', waitMs: null }]);
  await drainsOf(plan());
  await pass(1);
  expect(told('failed')).toMatchObject([{ id: 'id-1' }]);
  expect(rounds()).toBe(before + 1);
  await running.stop();
});

test('messages that have killed their process too often count as failed, are reported and copied at once', async () => {
  const { consumer, database, told } = await consumerBench({ settings: { deadLetters: true } });
  database.on('k.worker <> $2::bigint) as others', () => [{ others: true }]);
  const dead = [
    { keyId: 'key-1', gaveUp: 'id-1' },
    { keyId: 'key-2', gaveUp: null },
    { keyId: 'key-3', gaveUp: 'id-3' },
  ];
  fakeTimeUntilEnd();
  const running = await consumer.start();
  await pass(100);
  const rounds = (): number => database.said('from outbox.parked p').length;
  const before = rounds();
  database.on('outbox.end_dead_tries', () => dead.splice(0));
  await pass(500);

  expect(told('failed')).toEqual(
    ['id-1', 'id-3'].map((id) => ({ type: 'failed', id, reason: 'killed', error: undefined })),
  );
  expect(running.counts().failed).toBe(2);
  expect(rounds()).toBe(before + 1);
  const [group, worker, maxKills, blockKey] = database.said('outbox.end_dead_tries')[0] ?? [];
  expect([group, maxKills, blockKey]).toEqual(['shop', 3, false]);
  expect(String(worker)).toMatch(/^-?\d+$/);
  await running.stop();
});

test('a failure of the workers is an outage of Temporal, reported once, until it has answered and workers run', async () => {
  const { consumer, plan, sources, told, world } = await consumerBench();
  fakeTimeUntilEnd();
  const running = await consumer.start();
  sources[0].subscriptions[0]?.assigned([]);
  await sources[0].deliver(numbered(1));
  await pass(200);
  const error = new Error('away');
  world.hosting = false;
  plan().failed(error);
  plan().failed(new Error('again'));
  expect(told('workflows-failing')).toEqual([{ type: 'workflows-failing', error }]);
  expect(running.health().failing).toMatchObject([{ what: 'Temporal', error: error.message }]);
  await pass(3_000);
  expect(told('workflows-resumed'), 'no worker runs').toEqual([]);
  world.hosting = true;
  await pass(3_000);
  expect(told('workflows-resumed')).toHaveLength(1);
  expect(running.health().failing).toEqual([]);
  await running.stop();
});

test('a try that the database does not answer is reported, and its key is tried again', async () => {
  const { consumer, database, told, world } = await consumerBench();
  fakeTimeUntilEnd();
  world.hosting = false;
  const error = new Error('away');
  database.on('outbox.due_keys', () => [
    { ...wanted, replace: 'never', nextAt: 'n', wanted: false, idle: true, lateMs: null },
  ]);
  database.on('outbox.begin_try', () => {
    throw error;
  });
  const running = await consumer.start();
  await pass(100);
  expect(told('parked-failing')).toEqual([{ type: 'parked-failing', error, retryInMs: 1_000 }]);
  await pass(5_000);
  expect(database.said('outbox.begin_try').length).toBeGreaterThan(1);
  await running.stop();
});

test('a failed page of a bulk operation is reported', async () => {
  const { consumer, database, plan, told } = await consumerBench();
  const running = await consumer.start();
  onTestFinished(() => running.stop());
  const error = new Error('no');
  database.on('bulk_operation', () => {
    throw error;
  });
  await expect(plan().bulk.runPage('bulk-1', () => undefined)).rejects.toBe(error);
  expect(told('bulk-failing')).toEqual([{ type: 'bulk-failing', error }]);
});
