import { expect, onTestFinished, test, vi } from 'vitest';
import { Slots } from '../../../src/core/slots.ts';
import { KeyStandIns } from '../../../src/inbox/parked/stand-ins.ts';
import type { KeyDrains, ParkedKeyAnswer, StandInRules } from '../../../src/inbox/ports.ts';

interface Drain {
  readonly keyId: string;
  readonly signal: AbortSignal;
  readonly progress: () => void;
  readonly standIn: StandInRules | undefined;
  end(error?: Error): void;
}

function stage(slots: number) {
  const drains: Drain[] = [];
  const failures: unknown[] = [];
  let drained = 0;
  const open: KeyDrains = {
    drain: (keyId, signal, progress, standIn) =>
      new Promise<ParkedKeyAnswer>((resolve, reject) => {
        const end = (error?: Error): void =>
          error === undefined ? resolve({ kind: 'drained' }) : reject(error);
        drains.push({ keyId, signal, progress, standIn, end });
      }),
  };
  const standIns = new KeyStandIns({
    drains: open,
    slots: new Slots(slots),
    failed: (error) => failures.push(error),
    drained: () => (drained += 1),
  });
  const none = new AbortController().signal;
  return {
    standIns,
    failures,
    drained: () => drained,
    byWorkflow: (keyId: string, signal = none) => standIns.drain(keyId, signal, () => undefined),
    keys: () => drains.map(({ keyId }) => keyId),
    one: (n: number): Drain => {
      const drain = drains[n];
      if (drain === undefined) throw new Error(`There is no drain ${n}.`);
      return drain;
    },
  };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('workflows and stand-ins share the slots, and keys waiting for their workflow come first', async () => {
  const { byWorkflow, drained, keys, one, standIns } = stage(2);
  expect(standIns.room).toBe(2);
  standIns.offer(['a', 'b', 'c', 'a']);
  await turn();
  expect(keys()).toEqual(['a', 'b']);
  expect(standIns.room).toBe(0);

  const supervised = byWorkflow('d');
  await turn();
  expect(keys()).toHaveLength(2);
  one(0).end();
  await turn();
  expect(keys()).toEqual(['a', 'b', 'd']);
  expect([one(0).standIn, one(2).standIn]).toEqual([expect.anything(), undefined]);
  expect(drained(), 'one still waits').toBe(0);
  one(2).end();
  expect(await supervised).toEqual({ kind: 'drained' });
  await turn();
  expect(keys()).toEqual(['a', 'b', 'd', 'c']);
  one(1).end();
  one(3).end();
  await turn();
  expect(drained()).toBeGreaterThan(0);
  expect(standIns.room).toBe(2);
});

test('a workflow takes its key over from the stand-in once that has ended', async () => {
  const { byWorkflow, keys, one, standIns } = stage(4);
  standIns.offer(['a']);
  await turn();
  const supervised = byWorkflow('a');
  await turn();
  // It may end the message in hand, with its quick retries.
  expect([one(0).standIn?.leave.aborted, one(0).signal.aborted]).toEqual([true, false]);
  expect(keys()).toEqual(['a']);

  one(0).end();
  await turn();
  expect(keys()).toEqual(['a', 'a']);
  standIns.offer(['a']);
  await turn();
  expect(keys(), 'in the hands of its workflow').toHaveLength(2);
  one(1).end();
  await supervised;
  standIns.offer(['a']);
  await turn();
  expect(keys(), 'in nobody’s hands').toHaveLength(3);
});

test('a workflow that is ended while it waits for a slot takes none', async () => {
  const { byWorkflow, keys, one, standIns } = stage(1);
  standIns.offer(['a']);
  await turn();
  const ending = new AbortController();
  const waiting = byWorkflow('b', ending.signal);
  await turn();
  ending.abort();
  expect(await waiting).toEqual({ kind: 'waiting', inMs: 0 });

  one(0).end();
  await turn();
  expect(standIns.room).toBe(1);
  expect(keys()).toEqual(['a']);
});

test('a stop ends the stand-ins after the message in hand, and begins no other', async () => {
  const { keys, one, standIns } = stage(1);
  standIns.offer(['a', 'b']);
  await turn();
  let stopped = false;
  const stopping = standIns.stop().then(() => (stopped = true));
  await turn();
  expect(one(0).signal.aborted).toBe(true);
  expect(stopped).toBe(false);
  one(0).end();
  await stopping;
  standIns.offer(['c']);
  await turn();
  expect(keys()).toEqual(['a']);
});

test('a stand-in without progress for half a minute is ended, and so is one that has run for a minute', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { one, standIns } = stage(2);
  // Its timer is not one of the faked ones.
  const limits: number[] = [];
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
    limits.push(ms);
    return new AbortController().signal;
  });
  onTestFinished(() => timeout.mockRestore());
  standIns.offer(['stuck', 'alive']);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(limits).toEqual([60_000, 60_000]);
  for (let second = 0; second < 31; second += 1) {
    one(1).progress();
    await vi.advanceTimersByTimeAsync(1_000);
  }
  expect([one(0).signal.aborted, one(1).signal.aborted]).toEqual([true, false]);
});

test('after a failure nothing begins for a second, and the key may be offered again', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { failures, keys, one, standIns } = stage(1);
  standIns.offer(['a', 'b']);
  await vi.advanceTimersByTimeAsync(0);
  one(0).end(new Error('no database'));
  await vi.advanceTimersByTimeAsync(0);
  expect(failures).toHaveLength(1);
  standIns.offer(['a']);
  await vi.advanceTimersByTimeAsync(900);
  expect(keys()).toEqual(['a']);
  await vi.advanceTimersByTimeAsync(200);
  standIns.offer([]);
  await vi.advanceTimersByTimeAsync(0);
  expect(keys()).toEqual(['a', 'a']);
});

test('a stand-in that has ended leaves no timer, and neither does a workflow that has its slot', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { byWorkflow, one, standIns } = stage(1);
  standIns.offer(['a']);
  await vi.advanceTimersByTimeAsync(0);
  expect(vi.getTimerCount()).toBe(1);
  one(0).end();
  await vi.advanceTimersByTimeAsync(0);
  expect(vi.getTimerCount()).toBe(0);

  const supervised = byWorkflow('b');
  await vi.advanceTimersByTimeAsync(0);
  expect(vi.getTimerCount()).toBe(0);
  one(1).end();
  await supervised;
});

test('a workflow that waits for a slot reports progress every second, and no key waits twice', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { keys, one, standIns } = stage(1);
  standIns.offer(['a', 'b']);
  await vi.advanceTimersByTimeAsync(0);
  let progress = 0;
  const supervised = standIns.drain('b', new AbortController().signal, () => (progress += 1));
  await vi.advanceTimersByTimeAsync(2_999);
  expect(progress).toBe(2);
  one(0).end();
  await vi.advanceTimersByTimeAsync(0);
  one(1).end();
  expect(await supervised).toEqual({ kind: 'drained' });
  await vi.advanceTimersByTimeAsync(5_000);
  expect([keys(), progress]).toEqual([['a', 'b'], 2]);
});

test('as many keys wait as a look finds, and those left out are offered again', async () => {
  const { keys, one, standIns } = stage(1);
  const names = Array.from({ length: 150 }, (_, n) => `key-${n}`);
  standIns.offer(['first']);
  await turn();
  standIns.offer(names);
  for (let n = 0; n < 101; n += 1) {
    one(n).end();
    await turn();
  }
  expect(keys()).toEqual(['first', ...names.slice(0, 100)]);
});
