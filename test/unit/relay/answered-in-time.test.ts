import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { answeredInTime } from '../../../src/relay/answered-in-time.ts';
import type { RelayEvent } from '../../../src/relay/report.ts';
import { fakeTime, pass, realTime, soFar } from '../../support/fixtures/fake-time.ts';

beforeEach(fakeTime);
afterEach(realTime);

function callOf<Result>(call: (signal: AbortSignal) => Promise<Result>, stop = new AbortController()) {
  const events: RelayEvent[] = [];
  const limits = {
    what: 'a batch',
    transport: 'kafka',
    lane: { topic: 'orders', lane: 2 },
    stop: stop.signal,
    withinMs: 5_000,
    report: (event: RelayEvent) => events.push(event),
  };
  const listeners = () => getEventListeners(stop.signal, 'abort');
  return { events, listeners, answer: soFar(answeredInTime(limits, call)) };
}

test('a call that settles leaves no timer and no listener behind, whether it returns or throws', async () => {
  const answered = callOf(async () => 'sent');
  const failed = callOf(() => Promise.reject(new Error('broken')));
  await pass(0);
  expect(answered.answer).toEqual({ state: 'resolved', value: 'sent' });
  expect(failed.answer).toMatchObject({ state: 'rejected', error: { message: 'broken' } });
  expect(vi.getTimerCount()).toBe(0);
  expect([answered, failed].flatMap(({ listeners }) => listeners())).toEqual([]);
  expect([...answered.events, ...failed.events]).toEqual([]);
});

test('a call that takes too long is aborted, and after the same time again given up and reported', async () => {
  let asked: AbortSignal | undefined;
  const { answer, events } = callOf((signal) => {
    asked = signal;
    return new Promise(() => undefined);
  });
  await pass(4_999);
  expect(asked?.aborted).toBe(false);
  await pass(1);
  expect(asked?.aborted).toBe(true);
  await pass(4_999);
  expect(answer.state).toBe('open');
  await pass(1);
  expect(answer).toMatchObject({
    state: 'rejected',
    error: {
      code: 'OUTBOX_TRANSPORT_STUCK',
      message:
        'The transport "kafka" has not settled a batch of the lane orders/2 within 5 s after it was asked to stop. The lane is given up.',
      details: { transport: 'kafka', topic: 'orders', lane: 2 },
    },
  });
  expect(events).toEqual([{ type: 'error', during: 'publish', error: answer.error }]);
});

test('a call whose caller stops is aborted at once with its reason, and has the same time from then on', async () => {
  const stop = new AbortController();
  let asked: AbortSignal | undefined;
  const { answer } = callOf((signal) => {
    asked = signal;
    return new Promise(() => undefined);
  }, stop);
  await pass(3_000);
  expect(asked?.aborted).toBe(false);
  stop.abort('it leaves');
  expect(asked?.aborted).toBe(true);
  expect(asked?.reason).toBe('it leaves');
  await pass(4_999);
  expect(answer.state).toBe('open');
  await pass(1);
  expect(answer.state).toBe('rejected');
});

test('a call of a caller that has already stopped is aborted from its beginning, and may still return', async () => {
  const stop = new AbortController();
  stop.abort();
  const { answer } = callOf(async (signal) => signal.aborted, stop);
  await pass(0);
  expect(answer).toEqual({ state: 'resolved', value: true });
  expect(vi.getTimerCount()).toBe(0);
});
