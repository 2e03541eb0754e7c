import { describe, expect, test } from 'vitest';
import { ReadSize } from '../../../../src/brokers/redis/source/read-size.ts';

const mib = 1_024 * 1_024;

/** A read that was as large as asked for. */
function full(size: ReadSize, wanted: number, bytesEach: number, tookMs = 1): number {
  const asked = size.next(wanted);
  size.arrived({ asked, entries: asked, bytes: asked * bytesEach, tookMs, withinMs: 5_000 });
  return asked;
}

describe('the number of entries that a reader of Redis requests', () => {
  test('grows while replies are full and fast, up to the batch size', () => {
    const size = new ReadSize();
    expect(Array.from({ length: 5 }, () => full(size, 200, 1_000))).toEqual([32, 64, 128, 200, 200]);
  });

  test('does not grow after slow replies, and is at least one', () => {
    const size = new ReadSize();
    full(size, 200, 1_000, 2_000);
    expect(size.next(200)).toBe(32);
    expect(size.next(0)).toBe(1);
    full(size, 200, 100 * mib);
    expect(size.next(200)).toBe(1);
  });

  test('is at most 8 MiB by the size of the last entries', {
    tags: ['redis-reads-what-arrives-in-time'],
  }, () => {
    const size = new ReadSize();
    full(size, 200, mib);
    expect(size.next(200)).toBe(8);
    // Smaller ones count little by little.
    full(size, 200, 1_000);
    expect(size.next(200)).toBe(15);
    for (let n = 0; n < 20; n += 1) full(size, 200, 1_000);
    expect(size.next(200)).toBe(200);
  });

  test('is halved by each late reply, and grows again', () => {
    const size = new ReadSize();
    for (let n = 0; n < 7; n += 1) size.late(size.next(200));
    expect(size.next(200)).toBe(1);
    expect(Array.from({ length: 3 }, () => full(size, 200, 1_000))).toEqual([1, 2, 4]);
  });
});
