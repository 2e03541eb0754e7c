import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { WindowKeeper, type WindowKeeperInput } from '../../../src/inbox/window/window-keeper.ts';
import type { Transaction } from '../../../src/store/database/transaction.ts';
import { ScriptedClient } from '../../support/fixtures/scripted-client.ts';
import { until } from '../../support/fixtures/until.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

const hourMs = 60 * 60_000;

function stage(given: Partial<WindowKeeperInput<Transaction>> = {}) {
  const database = new ScriptedClient();
  const failures: unknown[] = [];
  const keeper = new WindowKeeper({
    client: database.client,
    group: 'shop',
    windowMs: 4 * hourMs,
    failed: (error, retryInMs) => failures.push([error, retryInMs]),
    ...given,
  });
  database.on('as "windowMs"', () => [{ windowMs: 4 * hourMs }]);
  database.on('outbox.drop_ended_kept', () => [{ deleted: 0, at: null, group: null, id: null }]);
  database.on('as "byRelay"', () => [{ role: 'r', may: true, byRelay: false }]);
  return {
    database,
    failures,
    keeper,
    noted: () => database.said('insert into outbox.consumer_group'),
    rounds: () => database.said('as "windowMs"').length,
  };
}

test('rounds follow each other, and the group is recorded four times within its window', async () => {
  const { keeper, noted, rounds } = stage({ paces: { roundMs: 1, againMs: 60_000 } });
  await keeper.start();
  await until(() => rounds() >= 3, 5_000, 1);
  expect(noted()).toHaveLength(1);
  vi.advanceTimersByTime(hourMs - 1);
  const before = rounds();
  await until(() => rounds() >= before + 2, 5_000, 1);
  expect(noted()).toHaveLength(1);
  vi.advanceTimersByTime(1);
  await until(() => noted().length === 2, 5_000, 1);
  await keeper.stop();
  const after = rounds();
  await new Promise((resolve) => setImmediate(resolve));
  expect(rounds()).toBe(after);
});

test('a long window is recorded once a day', async () => {
  const { keeper, noted, rounds } = stage({ windowMs: 400 * hourMs, paces: { roundMs: 1 } });
  await keeper.start();
  vi.advanceTimersByTime(24 * hourMs - 1);
  await until(() => rounds() >= 3, 5_000, 1);
  expect(noted()).toHaveLength(1);
  vi.advanceTimersByTime(1);
  await until(() => noted().length === 2, 5_000, 1);
  await keeper.stop();
});

test('a late change of epochs is reported from the tenth try on', async () => {
  for (const [tries, told] of [
    [9, 0],
    [10, 1],
  ] as const) {
    const { database, failures, keeper } = stage({ paces: { againMs: 1_234 } });
    database.on('e.ended_at is null as current', () => [{ epoch: '1', current: true, ageMs: hourMs, tries }]);
    database.on('select outbox.roll_processed', () => [{ answer: 'busy' }]);
    await keeper.start();
    await keeper.stop();
    expect(database.said('select outbox.roll_processed')).toEqual([[String(hourMs), 300, 1_234]]);
    expect(failures).toHaveLength(told);
    if (told > 0)
      expect(failures[0]).toEqual([
        expect.objectContaining({ code: 'OUTBOX_WINDOW_LATE', details: { tries: 10 } }),
        1_234,
      ]);
  }
});
