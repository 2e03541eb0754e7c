import { afterEach, expect, test, vi } from 'vitest';
import { StandIns } from '../../../src/relay/stand-ins.ts';

afterEach(() => vi.useRealTimers());

interface Drain {
  readonly signal: AbortSignal;
  readonly progress: () => void;
}

/** A value that somebody gives later. */
function later<Value>() {
  let give: (value: Value) => void = () => undefined;
  const given = new Promise<Value>((resolve) => {
    give = resolve;
  });
  return { give: (value: Value): void => give(value), given };
}

test('a stand-in that makes progress goes on, and one that makes none for half a minute is told to end', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  const begun = later<Drain>();
  const left = later<void>();
  const standIns = new StandIns({
    drain: (_lane, signal, progress) => {
      begun.give({ signal, progress });
      return new Promise((resolve) =>
        signal.addEventListener('abort', () => resolve('more'), { once: true }),
      );
    },
    ask: async () => true,
    left: () => left.give(),
    report: () => undefined,
  });
  standIns.offer({ topic: 'orders', lane: 0, workflowId: 'w', replace: false }, Promise.resolve(false));
  const { signal, progress } = await begun.given;

  for (let second = 0; second < 60; second += 1) {
    vi.advanceTimersByTime(1_000);
    progress();
  }
  expect(signal.aborted).toBe(false);

  vi.advanceTimersByTime(29_000);
  expect(signal.aborted).toBe(false);
  vi.advanceTimersByTime(1_000);
  expect(signal.aborted).toBe(true);
  await left.given;
  await standIns.stop();
});
