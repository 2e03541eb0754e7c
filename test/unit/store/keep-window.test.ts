import { expect, test } from 'vitest';
import { type KeepWindowInput, keepWindow } from '../../../src/store/inbox/window.ts';
import { ScriptedClient } from '../../support/fixtures/scripted-client.ts';

const windowMs = 8 * 60 * 60_000;

/** Epochs as the database shows them. */
const epoch = (n: number, ageMs: number, current = false, tries = 0) => ({
  epoch: String(n),
  ageMs,
  current,
  tries,
});

function stage(...epochs: readonly ReturnType<typeof epoch>[]) {
  const database = new ScriptedClient();
  database.on('as "windowMs"', () => [{ windowMs }]);
  database.on('as "byRelay"', () => [{ role: 'r', may: true, byRelay: false }]);
  database.on('e.ended_at is null as current', () => epochs);
  database.on('outbox.drop_ended_kept', () => [{ deleted: 0, at: null, group: null, id: null }]);
  database.on('select outbox.roll_processed', () => [{ answer: 'rolled' }]);
  database.on('outbox.carry_', () => [{ carried: 0, complete: true, busy: false }]);
  database.on('select outbox.drop_processed', () => [{ dropped: true }]);
  return {
    database,
    keep: (input: Partial<KeepWindowInput> = {}) =>
      keepWindow({ transaction: database.ask }, { windowMs, signal: new AbortController().signal, ...input }),
  };
}

const idle = { rolled: false, carried: 0, dropped: 0, deleted: 0, complete: true, failedTries: 0 };

test('an obstacle leaves a change incomplete, with the most tries in vain', async () => {
  const busy = stage(epoch(1, windowMs, false, 3), epoch(2, windowMs, false, 7), epoch(3, windowMs, true, 5));
  busy.database.on('select outbox.roll_processed', () => [{ answer: 'busy' }]);
  busy.database.on('select outbox.drop_processed', () => [{ dropped: false }]);
  expect(await busy.keep()).toEqual({ ...idle, complete: false, failedTries: 7 });

  const late = stage(epoch(3, windowMs, true, 5));
  late.database.on('select outbox.roll_processed', () => [{ answer: 'busy' }]);
  expect(await late.keep()).toEqual({ ...idle, complete: false, failedTries: 5 });

  const young = stage(epoch(3, windowMs, true, 5));
  young.database.on('select outbox.roll_processed', () => [{ answer: 'young' }]);
  expect(await young.keep(), 'it was empty').toEqual(idle);
});

test('ids are carried over page by page, and an epoch that was not carried over completely stays', async () => {
  const { database, keep } = stage(epoch(1, windowMs, false, 2));
  const live = [
    { carried: 5, complete: false, busy: false },
    { carried: 1, complete: true, busy: false },
  ];
  database.on('outbox.carry_live', () => [live.shift() ?? { carried: 0, complete: true, busy: false }]);
  database.on('outbox.carry_kept', () => [{ carried: 0, complete: false, busy: true }]);

  expect(await keep()).toEqual({ ...idle, carried: 6, complete: false, failedTries: 2 });
  expect(database.said('outbox.carry_live')).toHaveLength(2);
  expect(database.said('outbox.carry_kept')).toHaveLength(1);
  expect(database.said('select outbox.drop_processed')).toEqual([]);

  database.on('outbox.carry_live', () => [{ carried: 0, complete: false, busy: true }]);
  await keep();
  expect(database.said('outbox.carry_kept'), 'kept ones come after the live ones').toHaveLength(1);
});

test('an infinite window keeps everything but failed messages whose time is over', async () => {
  const { database, keep } = stage(epoch(1, windowMs));
  database.on('as "windowMs"', () => [{ windowMs: null }]);
  database.on('outbox.drop_failed_kept', () => [{ deleted: 2 }]);

  const kept = await keep({
    windowMs: Number.POSITIVE_INFINITY,
    failed: { group: 'shop', ageMs: 1, copied: false },
  });

  expect(kept).toEqual({ ...idle, deleted: 2 });
  expect(database.said('as "windowMs"')).toEqual([[null]]);
  expect(database.said('outbox.drop_ended_kept')).toEqual([]);
});
