import { expect, test } from 'vitest';
import { coalesce } from '../../../src/relay/coalesce.ts';

/** Work whose runs a test ends by hand. */
function manualWork() {
  const ends: (() => void)[] = [];
  let running = 0;
  let most = 0;
  const work = async (): Promise<void> => {
    running += 1;
    most = Math.max(most, running);
    await new Promise<void>((resolve) => ends.push(resolve));
    running -= 1;
  };
  return { work, ends, most: () => most };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('calls while the work runs make it run once more, after the run and never concurrently', async () => {
  const { work, ends, most } = manualWork();
  const run = coalesce(work);
  const calls = [run(), run(), run()];

  ends[0]?.();
  await turn();
  expect(ends).toHaveLength(2);
  ends[1]?.();

  await Promise.all(calls);
  expect(ends).toHaveLength(2);
  expect(most()).toBe(1);
});

test('a call after the end runs the work again', async () => {
  let runs = 0;
  const run = coalesce(async () => void (runs += 1));

  await run();
  await run();

  expect(runs).toBe(2);
});

test.each([1, 2, 3, 4, 5, 6])('a call %i microtasks after the work ended is not missed', async (distance) => {
  let runs = 0;
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const run = coalesce(async () => {
    runs += 1;
    if (runs === 1) await ended;
  });
  void run();
  end();

  for (let n = 0; n < distance; n += 1) await Promise.resolve();
  await run();
  await turn();

  expect(runs).toBe(2);
});

test('failed work rejects its caller, and the next call runs it again', async () => {
  let runs = 0;
  const run = coalesce(async () => {
    runs += 1;
    if (runs === 1) throw new Error('once');
  });

  await expect(run()).rejects.toThrow('once');
  await run();

  expect(runs).toBe(2);
});
