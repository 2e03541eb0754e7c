import { expect, test } from 'vitest';
import { Prefetch } from '../../../../src/brokers/rabbitmq/source/prefetch.ts';

const mebibyte = 1_024 * 1_024;

test('a consumer prefetches two batches, within the limit of the protocol', () => {
  expect([0, 1, 200, 100_000].map((batchSize) => new Prefetch(batchSize).count)).toEqual([2, 2, 400, 65_535]);
});

test('large messages lower the prefetch to as many as fit into 32 MiB, and small ones raise it again, at most to two batches', () => {
  const prefetch = new Prefetch(200);

  expect(prefetch.isExceeded(64, 64 * mebibyte)).toBe(false);
  expect(prefetch.isExceeded(65, 65 * mebibyte)).toBe(true);
  expect(prefetch.count).toBe(32);
  expect(prefetch.isTooSmall(32, 32 * mebibyte)).toBe(false);
  expect(prefetch.isTooSmall(32, 8 * mebibyte)).toBe(true);
  expect(prefetch.count).toBe(128);
  expect(prefetch.isTooSmall(128, 1_000)).toBe(true);
  expect(prefetch.count).toBe(400);
  expect(prefetch.isTooSmall(400, 1_000)).toBe(false);
});

test('a single message is never too large, and a few small ones do not raise the prefetch', () => {
  const prefetch = new Prefetch(200);

  expect(prefetch.isExceeded(1, 500 * mebibyte)).toBe(false);
  expect(prefetch.isExceeded(2, 500 * mebibyte)).toBe(true);
  expect(prefetch.count).toBe(1);
  expect(prefetch.isTooSmall(1, mebibyte)).toBe(true);
  expect(prefetch.count).toBe(32);
  expect(prefetch.isTooSmall(15, 100)).toBe(false);
});

test('a prefetch that is exceeded again becomes smaller each time, at least 1', () => {
  const prefetch = new Prefetch(5);

  expect(prefetch.isExceeded(100, 65 * mebibyte)).toBe(true);
  expect(prefetch.count).toBe(9);
  expect(prefetch.isExceeded(2, 900 * mebibyte)).toBe(true);
  expect(prefetch.count).toBe(1);
  expect(prefetch.isExceeded(2, 900 * mebibyte)).toBe(true);
  expect(prefetch.count).toBe(1);
});
