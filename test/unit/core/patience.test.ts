import { expect, test } from 'vitest';
import { patiently } from '../../../src/core/patience.ts';

test('an unreachable server is asked twice a second, and the wait is reported once', {
  tags: ['start-waits-for-servers'],
}, async () => {
  let asked = 0;
  const told: unknown[] = [];
  const askedFrom = performance.now();
  const attempt = async (): Promise<number> => {
    asked += 1;
    if (asked < 3) throw new Error('away');
    return performance.now() - askedFrom;
  };

  const tookMs = await patiently(attempt, {
    signal: new AbortController().signal,
    withinMs: Number.POSITIVE_INFINITY,
    passing: () => true,
    waiting: (error) => void told.push(error),
  });

  // Two pauses; what a busy machine adds is not theirs.
  expect(tookMs).toBeGreaterThan(900);
  expect(tookMs).toBeLessThan(4_000);
  expect(told).toEqual([new Error('away')]);
});
