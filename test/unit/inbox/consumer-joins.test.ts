import { expect, onTestFinished, test } from 'vitest';
import { OutboxError } from '../../../src/core/errors.ts';
import { fakeTimeUntilEnd, pass } from '../../support/fixtures/fake-time.ts';
import { failing } from '../../support/fixtures/told-health.ts';
import { consumerBench, numbered, numbers } from './consumer-bench.ts';

const two = { topics: [numbers('orders'), numbers('returns'), numbers('stock')], sourceOf: { stock: 1 } };

test('it joins its group at each source, with the addresses of its topics there and its own rules', async () => {
  const { consumer, sources } = await consumerBench({
    ...two,
    settings: { concurrency: 3, fromBeginning: false, startTimeout: '7s' },
  });
  const running = await consumer.start();
  onTestFinished(() => running.stop());

  const rules = { group: 'shop', concurrency: 3, fromBeginning: false, joinWithinMs: 7_000, batchSize: 200 };
  expect(sources.map(({ subscriptions }) => subscriptions)).toEqual([
    [expect.objectContaining({ ...rules, addresses: ['orders', 'returns'] })],
    [expect.objectContaining({ ...rules, addresses: ['stock'] })],
  ]);
});

test('a batch of the source is one transaction if the consumer wants batches', async () => {
  const { consumer, sources } = await consumerBench({ settings: { batch: { size: 30 } } });
  const running = await consumer.start();
  onTestFinished(() => running.stop());

  expect(sources[0].subscriptions[0]).toMatchObject({ batchSize: 30 });
});

test('it has joined while it is a member at every source, and a lost connection is reported until all continue', async () => {
  const { consumer, events, sources } = await consumerBench(two);
  const told = () => events.filter(({ type }) => type === 'connection-resumed');
  expect(consumer.health().state).toBe('stopped');
  const running = await consumer.start();
  onTestFinished(() => running.stop());
  const [memory, other] = sources.map(({ subscriptions }) => subscriptions[0]);
  expect(running.health()).toMatchObject({ state: 'running', joined: false });
  memory?.assigned([]);
  memory?.assigned([]);
  expect(running.health().joined).toBe(false);
  other?.assigned([{ address: 'stock', partition: 0 }]);
  expect(running.health().joined).toBe(true);

  const error = new Error('away');
  expect(told()).toEqual([]);
  memory?.disconnected(error, 500);
  expect(running.health()).toMatchObject({ joined: false, failing: [{ what: 'memory', error: 'away' }] });
  expect(events.at(-1)).toEqual({ type: 'disconnected', server: 'memory', error, retryInMs: 500 });
  memory?.disconnected(error, 900);
  other?.assigned([]);
  expect(told()).toEqual([]);
  memory?.assigned([]);
  expect(running.health()).toMatchObject({ joined: true, failing: [] });
  memory?.assigned([]);
  expect(told(), 'once per outage').toEqual([
    { type: 'connection-resumed', server: 'memory', since: expect.any(Date) },
  ]);
});

test('addresses that deliver nothing are shown in the health until they do, and notices are passed on', async () => {
  const { consumer, events, sources } = await consumerBench();
  const running = await consumer.start();
  onTestFinished(() => running.stop());
  const [memory] = sources[0].subscriptions;
  const error = new OutboxError('OUTBOX_ADDRESS_MISSING', 'The topic is missing.');
  memory?.incomplete?.(error);
  expect(running.health().failing).toMatchObject([{ what: 'topics of memory', error }]);
  memory?.incomplete?.(undefined);
  expect(running.health().failing).toEqual([]);

  memory?.noticed?.({ type: 'partitions-unread', addresses: ['orders'], error });
  expect(events).toContainEqual({ type: 'partitions-unread', addresses: ['orders'], error });
});

test('a server of the broker that does not answer is shown in the health under its own name', async () => {
  const { consumer, sources } = await consumerBench();
  fakeTimeUntilEnd();
  const running = await consumer.start();
  let refuse: (error: Error) => void = () => undefined;
  sources[0].subscriptions[0]?.asked?.('broker 2', new Promise((_resolve, reject) => (refuse = reject)));
  await pass(3_001);
  expect(failing(running)).toEqual(['memory broker 2']);
  refuse(new Error('closed'));
  await pass(0);
  await running.stop();
});

test('partitions that moved away are no longer failing', async () => {
  const { consumer, database, sources } = await consumerBench();
  const running = await consumer.start();
  onTestFinished(() => running.stop());
  const [memory] = sources[0].subscriptions;
  memory?.assigned([{ address: 'orders', partition: 0 }]);
  database.on('with quick as materialized', () => {
    throw new Error('away');
  });
  expect(await sources[0].deliver(numbered(1))).toEqual([['rejected', '1']]);
  const stands = { address: 'orders', partition: 0, offset: '1', attempts: 1 };
  expect(running.failing()).toMatchObject([stands]);
  expect(failing(running)).toEqual(['partition orders/0']);
  expect((await running.status()).failing).toMatchObject([stands]);

  memory?.assigned([]);
  expect([running.failing(), failing(running)]).toEqual([[], []]);
});
