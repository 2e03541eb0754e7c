import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Sql } from '../../../src/store/database/database.ts';
import { readClockOffset } from '../../../src/store/doctor/server.ts';

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A server that looks at its clock, and whose answer is there only after so many milliseconds of this host. */
const answering = (now: number, afterMs: number): Sql => ({
  query: () => {
    vi.setSystemTime(Date.now() + afterMs);
    return Promise.resolve([{ now }] as never[]);
  },
});

test.each([
  ['an answer at once', 970_000, 0, 30_000],
  ['the clock behind', 1_030_000, 2, -29_998],
  ['an answer that comes 20 s late, by equal clocks', 1_000_000, 20_000, 0],
  ['a server that answers 20 s late, by equal clocks', 1_020_000, 20_000, 0],
  ['a late answer and the clock ahead', 970_000, 20_000, 30_000],
])(
  '%s: only a difference of clocks that the wait for the answer does not explain counts',
  async (_case, now, afterMs, offset) => {
    await expect(readClockOffset(answering(now, afterMs))).resolves.toBe(offset);
  },
);
