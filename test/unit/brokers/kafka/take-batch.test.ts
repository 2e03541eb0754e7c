import { getEventListeners } from 'node:events';
import { expect, test, vi } from 'vitest';
import { kafkajs } from '../../../../src/brokers/kafka/client/kafkajs.ts';
import { acknowledge, reject, stage, tick } from './batch-stage.ts';

const committed = (partition: number, offset: string) => [
  { topic: 'orders', partitions: [{ partition, offset: `after ${offset}` }] },
];

test('the end of an answer is offered to nobody, and passed once all before it is done', {
  tags: ['no-loss'],
}, async () => {
  const { batches, end, take } = stage();

  const { payload } = await take(0, '1', '2', '5 end');
  await end();
  const open = await take(0, '6', '7', '9 end');
  await end((batch) => acknowledge(batch, '6'));

  expect(batches.map(({ messages }) => messages.map(({ offset }) => offset))).toEqual([
    ['1', '2'],
    ['6', '7'],
  ]);
  expect([payload.resolved, open.payload.resolved]).toEqual([['5'], ['6']]);
});

test('an answer that has nothing to hand over is passed, unless its start offsets or assignment are not valid', async () => {
  const { batches, begun, take } = stage();

  const { payload, taking } = await take(0, '5 end');
  let settle = (): void => undefined;
  begun.promise = new Promise((resolve) => (settle = resolve));
  const early = await take(1, '5 end');
  early.payload.stale = true;
  settle();
  await take(2);

  expect([taking.state, payload.committed]).toEqual(['resolved', [committed(0, '5')]]);
  expect([early.taking.state, early.payload.committed]).toEqual(['resolved', []]);
  expect(batches.flatMap(({ messages }) => messages)).toEqual([]);
});

test('nothing is offered before the start offsets are settled, or if that fails', async () => {
  const { batches, begun, take } = stage();
  let settle = (): void => undefined;
  begun.promise = new Promise((resolve) => (settle = resolve));
  await take(0, '1');
  const before = batches.length;
  settle();
  await take(0, '2');
  const after = batches.length;
  begun.promise = Promise.reject(new Error('no offsets'));

  const { payload, taking } = await take(0, '3');

  expect([before, after, batches.length]).toEqual([0, 2, 2]);
  expect([taking.state, payload.committed]).toEqual(['resolved', []]);
});

test('messages fetched from an offset other than that of the group are not offered', async () => {
  const { batches, begun, take } = stage();
  let settle = (): void => undefined;
  begun.promise = new Promise((resolve) => (settle = resolve));

  const { payload, taking } = await take(0, '1');
  payload.stale = true;
  settle();
  await take(0);

  expect(batches.flatMap(({ messages }) => messages)).toEqual([]);
  expect([taking.state, payload.committed]).toEqual(['resolved', []]);
});

test('a partition that is no longer assigned ends without an error', async () => {
  const { end, take } = stage();

  const { payload, taking } = await take(0, '1', '2');
  payload.unassigned = true;
  await end((batch) => {
    acknowledge(batch, '1');
    reject(batch, '2', 100);
  });

  expect([taking.state, payload.paused]).toEqual(['resolved', ['paused', 'resumed']]);
});

test('messages that Kafka deleted since the last batch are reported with their offsets', async () => {
  const { end, losses, noticed, take } = stage();
  const reset = {
    message: 'Offset out of range, resetting to default offset',
    topic: 'orders',
    partition: 0,
  };
  await take(0, '4', '5');
  await end();

  losses.logged({
    namespace: '',
    level: kafkajs().logLevel.ERROR,
    label: '',
    log: { ...reset, timestamp: '' },
  });
  await take(0, '9');

  expect(noticed).toMatchObject([
    { type: 'messages-lost', address: 'orders', partition: 0, from: '6', to: '9', messages: 3 },
  ]);
});

test('a single partition begins messages for a second, which counts only once the first is done', async () => {
  const { batches, take } = stage();
  await take(0, '1', '2');
  const [batch] = batches;
  await tick(5_000);
  const before = batch?.mayBegin();
  if (batch !== undefined) acknowledge(batch, '1');
  const after = batch?.mayBegin();

  await take(1, '3', '4');
  const second = batches[1];
  if (second !== undefined) acknowledge(second, '3');
  await tick(999);

  expect([before, after]).toEqual([true, false]);
  expect(second?.mayBegin()).toBe(true);
});

test('a partition has a second by itself, and three while others are in hand', async () => {
  const { batches, context, end, take } = stage();
  await take(0, '1', '2');
  const [first] = batches;
  if (first !== undefined) acknowledge(first, '1');
  await tick(999);
  const alone = [first?.mayBegin()];
  await tick(1);
  alone.push(first?.mayBegin());
  await take(1, '3');
  const shared = [first?.mayBegin()];
  await tick(1_999);
  shared.push(first?.mayBegin());
  await tick(1);
  shared.push(first?.mayBegin());
  await end();

  expect(alone).toEqual([true, false]);
  expect(shared).toEqual([true, true, false]);
  expect(context.inHand.size).toBe(1);
});

test('a batch sends a heartbeat twice a second until it ends, and leaves no timer or listener', async () => {
  const { end, stopping, take } = stage();
  const { payload } = await take(0, '1');

  await tick(499);
  const first = payload.heartbeats;
  await tick(1);
  const second = payload.heartbeats;
  await tick(1_500);
  await end();
  await tick(5_000);

  expect([first, second, payload.heartbeats]).toEqual([0, 1, 4]);
  expect([vi.getTimerCount(), getEventListeners(stopping.signal, 'abort')]).toEqual([0, []]);
});

test('a heartbeat that rejects with undefined is a failure, too', async () => {
  const { end, take } = stage();
  const { payload, taking } = await take(0, '1');
  payload.sick = { error: undefined };
  await tick(500);
  await end();

  expect(taking.state).toBe('rejected');
});

const answer = (type: string): Error => Object.assign(new Error(type), { type });

test('a batch begins nothing more when kafkajs or the consumer is stopping', async () => {
  const { batches, stopping, take } = stage();
  const { payload } = await take(0, '1');
  const [batch] = batches;
  payload.running = false;
  const ended = batch?.mayBegin();
  payload.running = true;
  stopping.abort();
  const stopped = batch?.mayBegin();
  await take(1, '2');

  expect([ended, stopped, batch?.signal.aborted, batch?.lost.aborted]).toEqual([false, false, true, false]);
  // One that begins during the stop.
  expect(batches[1]?.signal.aborted).toBe(true);
});

test('a rebalance ends the batch soon: what is done is committed, and kafkajs rejoins', async () => {
  const { batches, end, take } = stage();
  const { payload, taking } = await take(0, '1', '2');
  payload.sick = { error: answer('REBALANCE_IN_PROGRESS') };
  await tick(500);
  payload.sick = { error: answer('another') };
  await tick(500);
  const [batch] = batches;
  const during = [batch?.signal.aborted, batch?.lost.aborted, batch?.mayBegin(), taking.state];
  await end((one) => acknowledge(one, '1'));

  expect(during).toEqual([true, false, false, 'open']);
  expect(payload.committed).toHaveLength(1);
  // The first one says why.
  expect([taking.state, String(taking.error)]).toEqual(['rejected', 'Error: REBALANCE_IN_PROGRESS']);
});
