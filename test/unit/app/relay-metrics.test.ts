import { expect, test } from 'vitest';
import { relayMetrics } from '../../../src/app/relay/relay-metrics.ts';

test('each owner of a lane on hold counts it as its own, and the last one records how long it lasted', {
  tags: ['hold-end-reported'],
}, () => {
  const holds: number[] = [];
  const durations: number[] = [];
  const report = relayMetrics({
    add: (metric, value) => void (metric === 'holds' && holds.push(value)),
    record: (metric, value) => void (metric === 'holdDuration' && durations.push(value)),
    watch: () => () => undefined,
  });
  const lane = { topic: 'orders', lane: 3 };
  for (const over of [false, true]) {
    report({ type: 'hold-began', continued: false, hold: { scope: 'topic', reason: 'it is away' }, ...lane });
    report({ type: 'hold-ended', lastedMs: over ? 60_000 : 40_000, over, ...lane });
  }
  expect(holds).toEqual([1, -1, 1, -1]);
  expect(durations).toEqual([60]);
});
