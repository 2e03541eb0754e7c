import { expect, test } from 'vitest';
import { percentiles } from '../../../bench/contenders/serve.ts';
import { overall } from '../../../bench/workload.ts';

test('of a hundred values one is above the 99th percentile', () => {
  const values = Array.from({ length: 100 }, (_, index) => index + 1);
  expect(percentiles(values.toReversed())).toEqual({ p50: 51, p99: 100 });
});

test('one slow value among two hundred is below the 99th percentile, three are not', () => {
  const quick = Array.from({ length: 200 }, () => 1);
  expect(percentiles([...quick.slice(1), 50])).toEqual({ p50: 1, p99: 1 });
  expect(percentiles([...quick.slice(3), 50, 50, 50])).toEqual({ p50: 1, p99: 50 });
});

test('values are compared as numbers, and rounded to a tenth', () => {
  expect(percentiles([100.04, 9.06, 20])).toEqual({ p50: 20, p99: 100 });
  expect(percentiles([9.06])).toEqual({ p50: 9.1, p99: 9.1 });
});

test('the rate of rounds of equal size is that of their total time, not the mean of the rates', () => {
  expect(overall([100, 300])).toBe(150);
  expect(overall([250])).toBe(250);
});
