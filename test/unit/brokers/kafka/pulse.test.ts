import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Pulse } from '../../../../src/brokers/kafka/source/pulse.ts';

beforeEach(() => vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => {
  vi.useRealTimers();
});

const sessionTimeoutMs = 10_000;
const answer = (type: string) => Object.assign(new Error(type), { type });

test.for([['UNKNOWN_MEMBER_ID'], ['ILLEGAL_GENERATION'], ['FENCED_INSTANCE_ID']])(
  'a member that receives %s is no longer in its group',
  ([type = '']) => {
    const pulse = new Pulse(sessionTimeoutMs);
    pulse.failed(answer(type));
    expect(pulse.lost.aborted).toBe(true);
  },
);

test('a rebalance waits for the messages being handled, however long that takes', () => {
  const pulse = new Pulse(sessionTimeoutMs);
  for (let s = 0; s < 60; s += 1) {
    vi.advanceTimersByTime(1_000);
    pulse.look();
    pulse.failed(answer('REBALANCE_IN_PROGRESS'));
  }
  expect(pulse.lost.aborted).toBe(false);
});

test.for<[string, unknown]>([
  ['an unreachable broker', new Error('Connection error')],
  ['another coordinator', answer('NOT_COORDINATOR_FOR_GROUP')],
  ['an unreadable answer', undefined],
])('with %s a member is no longer in its group once its session has expired', ([, error]) => {
  const pulse = new Pulse(sessionTimeoutMs);
  vi.advanceTimersByTime(sessionTimeoutMs);
  pulse.look();
  pulse.failed(error);
  expect(pulse.lost.aborted).toBe(false);

  vi.advanceTimersByTime(1);
  pulse.look();
  expect(pulse.lost.aborted).toBe(true);
});

test('each answer restarts the session', () => {
  const pulse = new Pulse(sessionTimeoutMs);
  for (let n = 0; n < 5; n += 1) {
    vi.advanceTimersByTime(sessionTimeoutMs - 1);
    pulse.look();
    pulse.heard();
  }
  expect(pulse.lost.aborted).toBe(false);
});
