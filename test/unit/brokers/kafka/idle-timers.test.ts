import { createRequire } from 'node:module';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { calm } from '../../../../src/brokers/kafka/client/idle-timers.ts';

/** What this file uses of the queue that each connection of kafkajs has. */
interface RequestQueue {
  push(request: object): void;
  fulfillRequest(answer: object): void;
  maybeThrottle(ms: number): void;
  rejectAll(error: Error): void;
  destroy(): void;
}
type RequestQueueClass = new (options: object) => RequestQueue;

const load = createRequire(import.meta.url);

function requestQueue(): RequestQueue {
  const Queue = load('kafkajs/src/network/requestQueue') as RequestQueueClass;
  const logger = { debug: () => undefined, warn: () => undefined };
  return new Queue({ clientId: 'me', broker: 'here:9092', requestTimeout: 1_000, logger });
}

function calmQueue(): RequestQueue {
  const queue = requestQueue();
  calm(queue);
  return queue;
}

const sent: number[] = [];
function push(queue: RequestQueue, correlationId: number): void {
  const entry = { correlationId, resolve: () => undefined, reject: () => undefined };
  queue.push({ entry, expectResponse: true, sendRequest: () => sent.push(correlationId) });
}
function answer(queue: RequestQueue, correlationId: number): void {
  queue.fulfillRequest({ correlationId, payload: null, size: 0 });
}

/**
 * Whether there comes a time without a timer: with the fault there is none. What files before this one left in its process may set
 * one too, but no more after a while.
 */
async function isCalmInTime(): Promise<boolean> {
  for (let seconds = 0; seconds < 10 && vi.getTimerCount() > 0; seconds += 1)
    await vi.advanceTimersByTimeAsync(1_000);
  return vi.getTimerCount() === 0;
}

beforeEach(() => {
  sent.length = 0;
  vi.useFakeTimers();
});
afterEach(() => {
  // First: the spies are on the fake timers, and restoring them later would bring those back.
  vi.restoreAllMocks();
  vi.useRealTimers();
});

test('kafkajs has the fault: with nothing to send, its queue sets timers with a negative delay on and on', async () => {
  const armed = vi.spyOn(globalThis, 'setTimeout');
  const queue = requestQueue();
  push(queue, 1);
  answer(queue, 1);
  expect(armed.mock.lastCall?.[1]).toBeLessThan(0);
  expect(await isCalmInTime()).toBe(false);
  queue.destroy();
});

test('a calm queue sends throttled requests as soon as allowed', async () => {
  const armed = vi.spyOn(globalThis, 'setTimeout');
  const queue = calmQueue();
  queue.maybeThrottle(500);
  push(queue, 1);
  push(queue, 2);
  await vi.advanceTimersByTimeAsync(499);
  expect(sent).toEqual([]);
  await vi.advanceTimersByTimeAsync(20);
  expect(sent).toEqual([1, 2]);
  answer(queue, 1);
  answer(queue, 2);
  expect(await isCalmInTime()).toBe(true);
  expect(armed.mock.calls.filter(([, ms = 0]) => ms < 0)).toEqual([]);
});

test.each([undefined, null, {}, { scheduleCheckPendingRequests: () => 'own' }])(
  'anything that is not such a queue is left unchanged: %o',
  (other) => {
    const before = { ...other };
    calm(other);
    expect({ ...other }).toEqual(before);
  },
);

test('a calm queue sets no timer after its connection broke with requests waiting', async () => {
  const queue = calmQueue();
  queue.maybeThrottle(500);
  push(queue, 1);
  queue.rejectAll(new Error('The connection broke.'));
  await vi.advanceTimersByTimeAsync(1_000);
  expect(sent).toEqual([]);
  expect(await isCalmInTime()).toBe(true);
});
