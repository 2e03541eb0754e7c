import { expect, test } from 'vitest';
import { z } from 'zod';
import { topic } from '../../../src/core/topic.ts';
import { type ReadyMessage, routeOf, routeOfBatch } from '../../../src/inbox/route.ts';
import { incoming } from './incoming.ts';
import { refusalOf } from './refusal.ts';

type Log = unknown[];
const orders = topic('orders', z.object({ n: z.number() }));
const context = { signal: new AbortController().signal };

function now<Tx>(ready: ReadyMessage<Tx> | Promise<ReadyMessage<Tx>>): ReadyMessage<Tx> {
  if (ready instanceof Promise) throw new Error('It was not read at once.');
  return ready;
}

test('a read message is passed to its handler with the transaction', async () => {
  const route = routeOf<Log, unknown, { n: number }>(orders, async (tx, { id, payload, attempt }) => {
    tx.push([id, payload.n, attempt]);
    return 'handled';
  });
  const log: Log = [];

  const ready = now(route.read(incoming(), 2));

  expect(ready).toMatchObject({ id: 'id-1', topic: 'orders' });
  expect(await ready.handle(log, context)).toBe('handled');
  expect(log).toEqual([['id-1', 1, 2]]);
});

test('many messages are passed together in order, or one alone', async () => {
  const route = routeOfBatch<Log, unknown, { n: number }>(orders, (tx, messages) => {
    tx.push(messages.map(({ payload }) => payload.n));
  });
  const ready = [3, 1, 2].map((n) => now(route.read(incoming({ json: { n } }), 1)));
  const log: Log = [];

  route.handleAll(log, ready, context);
  for (const one of ready) one.handle(log, context);

  expect(log).toEqual([[3, 1, 2], [3], [1], [2]]);
});

test('whatever the handler of many throws or rejects is passed on', async () => {
  const failing = routeOfBatch(orders, () => Promise.reject(new Error('no')));
  const ready = [now(failing.read(incoming(), 1))];

  await expect(failing.handleAll(null, ready, context)).rejects.toThrow('no');
});

test('a batch of messages that another route has read is refused', () => {
  const mine = routeOfBatch<Log, unknown, unknown>(orders, () => undefined);
  const other = routeOfBatch<Log, unknown, unknown>(orders, () => undefined);

  expect(() => mine.handleAll([], [now(other.read(incoming(), 1))], context)).toThrow(
    'read by another route',
  );
});

test('an asynchronous schema makes reading asynchronous', async () => {
  const slow = topic(
    'slow',
    z.number().refine(async () => true),
  );
  const route = routeOf<Log, unknown, number>(slow, (tx, { payload }) => tx.push(payload));
  const log: Log = [];

  (await route.read(incoming({ json: 5 }), 1)).handle(log, context);

  expect(log).toEqual([5]);
});

test('the id is read without the body, and is the same when the body is read', () => {
  const route = routeOf(orders, () => undefined, { id: 'key' });

  expect(route.idOf(incoming({ key: 'k', body: null }))).toBe('orders:k');
  expect(now(route.read(incoming({ key: 'k' }), 1)).id).toBe('orders:k');
});

test('without an id nothing is read', async () => {
  const route = routeOf(orders, () => undefined);

  expect(await refusalOf(() => route.read(incoming({ headers: {}, body: null }), 1))).toMatchObject({
    details: { reason: 'no-id' },
  });
});
