import { getEventListeners } from 'node:events';
import { expect, test, vi } from 'vitest';
import { acknowledge, sessionTimeoutMs, stage, tick } from './batch-stage.ts';

const answer = (type: string): Error => Object.assign(new Error(type), { type });

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

test('a heartbeat that rejects with undefined is a failure, too', async () => {
  const { end, take } = stage();
  const { payload, taking } = await take(0, '1');
  payload.sick = { error: undefined };
  await tick(500);
  await end();

  expect(taking.state).toBe('rejected');
});

test('a member that has left the group has lost the batch in hand', async () => {
  const { batches, take } = stage();
  const { payload } = await take(0, '1');
  payload.sick = { error: answer('UNKNOWN_MEMBER_ID') };
  await tick(500);

  expect(batches[0]?.lost.aborted).toBe(true);
});

test('a member whose coordinator is unreachable has lost the batch in hand once its session has expired', async () => {
  const { batches, take } = stage();
  const { payload } = await take(0, '1');
  await tick(sessionTimeoutMs);
  payload.sick = { error: new Error('away') };
  await tick(sessionTimeoutMs);
  const before = batches[0]?.lost.aborted;
  await tick(500);

  expect([before, batches[0]?.lost.aborted]).toEqual([false, true]);
});
