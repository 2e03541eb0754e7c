import { expect, test } from 'vitest';
import { goneInWords, runningInWords } from '../../../src/cli/processes-in-words.ts';

const seen = (pid: number, seenMs: number) => ({ host: 'a', pid, seenMs, alive: seenMs < 15_000 });

test('all processes that are gone share one line, which names the last one', () => {
  expect(goneInWords('relay', [seen(1, 10)])).toBeUndefined();
  expect(goneInWords('relay', [seen(1, 10), seen(2, 16_000)])).toBe(
    '1 relay is gone, not seen for 16.0 s: a (pid 2)',
  );
  expect(goneInWords('relay', [seen(2, 240_000), seen(3, 16_000), seen(4, 300_000)])).toBe(
    '3 relays are gone, the last one not seen for 16.0 s: a (pid 3)',
  );
});

test('of the running processes three are named', () => {
  expect(runningInWords([1, 2, 3, 4, 5].map((pid) => seen(pid, 0)))).toBe(
    '5 running: a (pid 1), a (pid 2), a (pid 3), and 2 more',
  );
});
