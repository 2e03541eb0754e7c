import { expect, test } from 'vitest';
import { lowerQuartile, rowsOf } from '../../../bench/size.ts';
import { workflowRates } from '../../../bench/workflows.ts';

const size = (name: string) => ({ name, backlog: 10_000, leaves: 1, log: 0, history: 0 });

test('cases are compared with the first one of the same minutes, quiet and with a reader', () => {
  const rows = rowsOf([size('small'), size('history')], {
    quiet: [10, 11],
    pinned: [20, 30],
    one: [1, 2],
  });
  expect(rows).toEqual([
    { ...size('small'), quietMs: 10, pinnedMs: 20, quietRatio: 1, pinnedRatio: 1, oneMs: 1, oneRatio: 1 },
    {
      ...size('history'),
      quietMs: 11,
      pinnedMs: 30,
      quietRatio: 1.1,
      pinnedRatio: 1.5,
      oneMs: 2,
      oneRatio: 2,
    },
  ]);
});

test('the lower quartile has a quarter of the values below it, compared as numbers', () => {
  expect(lowerQuartile([100, 9, 30, 200, 40, 50, 60, 70])).toBe(40);
});

const span = { beganAtMs: 0, dueAtMs: 10_000 };

test('the sleep does not count for the rate of workflows', () => {
  const rates = workflowRates({ ...span, starts: [500, 1_000], closes: [10_500, 11_000] });
  expect(rates).toEqual({ started: 2, ended: 2, whole: 1 });
});

test('a rate is refused if a workflow ended before it was due or started after', () => {
  expect(() => workflowRates({ ...span, starts: [1, 2], closes: [9_999, 11_000] })).toThrow('ended before');
  expect(() => workflowRates({ ...span, starts: [1, 10_000], closes: [11_000, 11_000] })).toThrow(
    'after they',
  );
});
