import { expect, test } from 'vitest';
import type { SeenFilter } from '../../../src/brokers/seen-filter.ts';
import { byNow, fakeTimeUntilEnd, pass, soFar } from '../../support/fixtures/fake-time.ts';
import { gate } from '../../support/fixtures/gate.ts';
import { consumerBench, numbered, numbers } from './consumer-bench.ts';

test('a stop leaves the sources first, and last closes the connections that ending tries still need', async () => {
  const filter: SeenFilter = {
    seen: async () => new Set(),
    add: async () => undefined,
    close: async () => void steps.push('filter'),
  };
  const { consumer, database, steps } = await consumerBench({
    topics: [numbers('orders', { confirm: { group: 'shop', receiptTimeout: '1h' } }), numbers('stock')],
    sourceOf: { stock: 1 },
    settings: { deadLetters: true, filter },
  });
  database.on('as epoch', () => [{ epoch: 'e-1' }]);
  const running = await consumer.start();
  let over = false;
  void running.done.then(() => (over = true));
  expect([steps, over]).toEqual([[], false]);
  await running.stop();
  await running.done;

  expect(steps).toEqual([
    'leave other',
    'marks',
    'leave memory',
    'marks',
    'presence',
    'workflows',
    'filter',
    'dead letters of stock',
    'dead letters of orders',
    'receipts of orders',
  ]);
  expect(running.health()).toMatchObject({ state: 'stopped', joined: false });
});

test('a stop waits for the message in hand although the database is unreachable, and otherwise only briefly', async () => {
  const [begun, handling] = [gate(), gate()];
  const { consumer, database, sources } = await consumerBench({
    handler: () => {
      begun.open();
      return handling.opened;
    },
  });
  fakeTimeUntilEnd();
  const running = await consumer.start();
  sources[0].subscriptions[0]?.assigned([{ address: 'orders', partition: 0 }]);
  const delivered = sources[0].deliver(numbered(1));
  await begun.opened;
  // The database no longer answers.
  database.client.$transaction = () => new Promise(() => undefined);
  const stopping = soFar(running.stop());
  await pass(4_000);
  expect(stopping.state).toBe('open');
  handling.open();
  expect(await byNow(delivered)).toEqual([['acknowledged', '1']]);
  await pass(1_500);
  expect(stopping.state).toBe('resolved');
});

test('with nothing in hand a stop does not wait for a database that does not answer', async () => {
  const { consumer, database } = await consumerBench();
  fakeTimeUntilEnd();
  const running = await consumer.start();
  await pass(60);
  database.client.$transaction = () => new Promise(() => undefined);
  const stopping = soFar(running.stop());
  await pass(1_000);
  expect(stopping.state).toBe('resolved');
  expect(running.health().state).toBe('stopped');
});

test('with nothing in hand a stop does not wait for an unreachable broker', async () => {
  const { consumer, sources } = await consumerBench();
  fakeTimeUntilEnd();
  const running = await consumer.start();
  sources[0].leaves = () => new Promise(() => undefined);
  sources[0].subscriptions[0]?.disconnected(new Error('away'), 60_000);
  const stopping = soFar(running.stop());
  await pass(1_000);
  expect(stopping.state).toBe('resolved');
});

test('a stopped consumer makes no more queries', async () => {
  const { consumer, database } = await consumerBench({ settings: { deadLetters: true } });
  fakeTimeUntilEnd();
  const running = await consumer.start();
  await pass(60);
  await byNow(running.stop());
  const asked = database.transactions.length;
  await pass(2 * 60 * 60_000);
  expect(database.transactions).toHaveLength(asked);
});
