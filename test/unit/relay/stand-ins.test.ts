import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, expect, test, vi } from 'vitest';
import { StandIns } from '../../../src/relay/stand-ins.ts';

afterEach(() => vi.useRealTimers());

test('a stand-in that makes progress goes on, and one that makes none for half a minute is told to end', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  let given: { readonly signal: AbortSignal; progress(): void } | undefined;
  let left = 0;
  const standIns = new StandIns({
    drain: (_lane, signal, progress) => {
      given = { signal, progress };
      return new Promise((resolve) =>
        signal.addEventListener('abort', () => resolve('more'), { once: true }),
      );
    },
    ask: async () => true,
    left: () => (left += 1),
    report: () => undefined,
  });
  standIns.offer({ topic: 'orders', lane: 0, workflowId: 'w', replace: false }, Promise.resolve(false));
  while (given === undefined) await turn();

  for (let second = 0; second < 60; second += 1) {
    vi.advanceTimersByTime(1_000);
    given.progress();
  }
  expect(given.signal.aborted).toBe(false);

  vi.advanceTimersByTime(29_000);
  expect(given.signal.aborted).toBe(false);
  vi.advanceTimersByTime(1_000);
  expect(given.signal.aborted).toBe(true);
  while (left === 0) await turn();
  await standIns.stop();
});
