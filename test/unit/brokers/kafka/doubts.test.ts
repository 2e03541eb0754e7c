import { expect, test } from 'vitest';
import { Doubts } from '../../../../src/brokers/kafka/transport/doubts.ts';

function setup() {
  let nowMs = 0;
  const doubts = new Doubts(() => nowMs);
  const pass = (ms: number): void => void (nowMs += ms);
  return { doubts, pass };
}

/** How long each request of an outage lets its partition rest, with the requests that fit between. */
function rests(count: number): readonly number[] {
  const { doubts, pass } = setup();
  return Array.from({ length: count }, () => {
    doubts.add('orders', 1, 'late');
    let restMs = 0;
    for (; doubts.restOf('orders', 1) !== undefined; restMs += 1_000) pass(1_000);
    return restMs;
  });
}

test('after each unclear answer the partition is paused longer, at most a minute', () => {
  expect(rests(12)).toEqual([0, 0, 0, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
});

test('a clear answer ends the pause and resets the count', () => {
  const { doubts } = setup();
  for (let n = 0; n < 5; n += 1) doubts.add('orders', 1, 'late');
  expect(doubts.restOf('orders', 1)).toMatchObject({
    scope: 'topic',
    reason: expect.stringMatching(/in 2 s: late/),
  });
  doubts.clear('orders', 1);
  doubts.add('orders', 1, 'late');
  expect(doubts.restOf('orders', 1)).toBeUndefined();
});

test('only the partition without a clear answer is paused, and its topic is unreachable until then', () => {
  const { doubts, pass } = setup();
  for (let n = 0; n < 4; n += 1) doubts.add('a/b', 11, 'late');
  expect(doubts.restOf('a/b', 1)).toBeUndefined();
  expect(doubts.restIn('a')).toBeUndefined();
  expect(doubts.restIn('a/b')?.reason).toContain('Partition 11 of topic a/b');
  pass(1_000);
  expect(doubts.restIn('a/b')).toBeUndefined();
});
