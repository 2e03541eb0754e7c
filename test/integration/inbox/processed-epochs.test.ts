import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { forgetProcessed, readProcessed } from '../../../src/store/inbox/processed.ts';
import { noteArrivals } from '../../../src/store/inbox/receive.ts';
import { noteWindow } from '../../../src/store/inbox/window.ts';
import { storeMessages } from '../../../src/store/message/write.ts';
import { awake } from '../../support/fixtures/awake.ts';
import { dayMs, EpochFixture, hourMs } from '../../support/fixtures/epoch-fixture.ts';
import { untilLockWaits } from '../../support/fixtures/lock-waits.ts';
import { openTransaction } from '../../support/fixtures/open-transaction.ts';

let fixture: EpochFixture;
beforeEach(async () => {
  fixture = await EpochFixture.create();
});
afterEach(() => fixture.drop());

/** Messages in the live table, stored now. */
async function live(count: number): Promise<readonly string[]> {
  const messages = Array.from({ length: count }, () => ({ payload: '{}' }));
  return (await storeMessages(fixture.database, 'orders', messages)).map(({ id }) => id);
}

/** A message that a consumer keeps for later. */
async function park(id: string, group = 'g'): Promise<void> {
  await fixture.database.query(
    `insert into outbox.parked (consumer_group, message_id, state, topic, address, partition, "offset", wire, sent_at)
     values ($1, $2, 'failed', 'orders', 'orders', 0, '0', '{}', now())`,
    [group, id],
  );
}

test('ids are new once per group, whatever their epoch, also within one call', async () => {
  expect(await fixture.mark(['a', 'b', 'a'])).toEqual(['a', 'b']);
  expect(await fixture.roll()).toBe('rolled');
  expect(await fixture.mark(['a', 'c', 'c'])).toEqual(['c']);
  expect(await fixture.roll()).toBe('rolled');
  expect(await fixture.mark(['a', 'b', 'c', 'd'])).toEqual(['d']);
  expect(await fixture.mark(['a'], 'another')).toEqual(['a']);

  const read = await readProcessed(fixture.database, 'g', ['a', 'b', 'c', 'd', 'e']);
  expect([...read].toSorted()).toEqual(['a', 'b', 'c', 'd']);
});

test('an id requested twice is returned once, whether many or few of the ids are noted', async () => {
  await fixture.mark(['a']);
  await fixture.roll();
  await fixture.mark(['b']);

  expect(await readProcessed(fixture.database, 'g', ['a', 'a', 'b', 'c'])).toEqual(new Set(['a', 'b']));
  expect(await readProcessed(fixture.database, 'g', ['a', 'a', 'c', 'd', 'e'])).toEqual(new Set(['a']));
});

test('an id whose transaction rolls back is new to the next one', async () => {
  await fixture.mark(['a']);
  await fixture.roll();
  await fixture.database.transaction(async (sql) => {
    expect(await fixture.mark(['a', 'b'], 'g', sql)).toEqual(['b']);
    await forgetProcessed(sql, 'g', ['b']);
  });

  expect(await fixture.mark(['a', 'b'])).toEqual(['b']);
});

test('messages that arrive singly are noted in the current epoch and known from every earlier one', async () => {
  const arrive = (id: string) =>
    fixture.database.transaction((sql) => noteArrivals(sql, 'g', [{ id, topic: 'orders', key: null }]));
  for (const [index, id] of ['a', 'b', 'c'].entries()) {
    expect(await arrive(id)).toEqual(['new']);
    expect(await arrive(id)).toEqual(['processed']);
    const rows = await fixture.database.query(
      `select p.epoch::integer as epoch from outbox.processed p where p.message_id = $1`,
      [id],
    );
    expect(rows).toEqual([{ epoch: index + 1 }]);
    expect(await fixture.roll()).toBe('rolled');
  }
  for (const id of ['a', 'b', 'c']) expect(await arrive(id)).toEqual(['processed']);
});

test('the end of an epoch waits for a transaction that has noted even one id', async () => {
  await fixture.mark(['before']);
  const open = await openTransaction(fixture.url);
  expect(await noteArrivals(open, 'g', [{ id: 'a', topic: 'orders', key: null }])).toEqual(['new']);
  expect(await fixture.roll(50)).toBe('busy');
  const rolling = fixture.roll(30_000);
  await untilLockWaits(fixture.database, 1, 400);
  await open.commit();
  expect(await rolling).toBe('rolled');
  expect(await fixture.mark(['a', 'b'])).toEqual(['b']);
});

test('two transactions with the same ids in opposite orders do not deadlock', async () => {
  const ids = Array.from({ length: 300 }, () => randomUUID());
  for (let round = 0; round < 10; round += 1) {
    const both = await Promise.all([
      fixture.mark(ids, `g${round}`),
      fixture.mark(ids.toReversed(), `g${round}`),
    ]);
    expect(both.flat()).toHaveLength(ids.length);
  }
});

test('an epoch lasts a quarter of the window, is dropped a window after its end, and at most six exist', async () => {
  const windowMs = 8 * dayMs;
  let most = 0;
  for (let day = 0; day < 24; day += 1) {
    await fixture.mark([`of day ${day}`]);
    await fixture.keep(windowMs);
    // Noted a moment more than seven days ago.
    const since = day - 7;
    if (since >= 0) expect(await fixture.mark([`of day ${since}`])).toEqual([]);
    most = Math.max(most, (await fixture.epochs()).length);
    await fixture.pass(dayMs);
  }
  expect(await fixture.mark(['of day 0', 'of day 10'])).toEqual(['of day 0', 'of day 10']);
  expect(most).toBeGreaterThan(3);
  expect(most).toBeLessThanOrEqual(6);
});

test('a short window has epochs of an hour', async () => {
  await fixture.mark(['a']);
  await fixture.pass(hourMs - 60_000);
  expect(await fixture.keep(hourMs)).toMatchObject({ rolled: false });
  await fixture.pass(60_000);
  const rolled = { rolled: true, carried: 0, dropped: 0, deleted: 0, complete: true, failedTries: 0 };
  expect(await fixture.keep(hourMs)).toEqual(rolled);
});

test('no epoch ends while nothing is processed', async () => {
  await fixture.pass(100 * dayMs);
  expect(await fixture.keep(dayMs)).toMatchObject({ rolled: false, complete: true });
  await fixture.mark(['a']);
  expect(await fixture.keep(dayMs)).toMatchObject({ rolled: false });
  expect(await fixture.epochs()).toEqual([1]);
});

test('the longest window applies: the given one, or that of a group seen within its own window', async () => {
  await noteWindow(fixture.database, { group: 'long', windowMs: 20 * dayMs });
  await noteWindow(fixture.database, { group: 'short', windowMs: dayMs });
  await fixture.pass(5 * dayMs);
  await fixture.mark(['a']);
  await fixture.roll();
  await fixture.pass(14 * dayMs);
  expect(await fixture.keep(2 * dayMs)).toMatchObject({ dropped: 0 });

  // Now the group has not been seen for longer than it wanted its ids kept.
  await fixture.pass(dayMs);
  expect(await fixture.keep(16 * dayMs)).toMatchObject({ dropped: 0 });
  expect(await fixture.keep(2 * dayMs)).toMatchObject({ dropped: 1 });
  expect(await fixture.mark(['a'])).toEqual(['a']);
});

test('an infinite window never ends, whether given or noted by a group', async () => {
  await fixture.mark(['a']);
  await fixture.roll();
  await fixture.pass(40_000 * dayMs);
  const nothing = { rolled: false, carried: 0, dropped: 0, deleted: 0, complete: true, failedTries: 0 };
  expect(await fixture.keep(Number.POSITIVE_INFINITY)).toEqual(nothing);
  await noteWindow(fixture.database, { group: 'g', windowMs: Number.POSITIVE_INFINITY });
  await fixture.pass(40_000 * dayMs);
  expect(await fixture.keep(dayMs)).toEqual(nothing);
});

test('ids of live and of kept messages outlive the window, others do not', async () => {
  const ids = await live(2_500);
  await fixture.mark(ids);
  await fixture.mark(ids.slice(0, 10), 'another');
  await fixture.mark(['kept', 'forgotten']);
  await park('kept');
  await fixture.roll();
  const later = await live(10);
  await fixture.pass(31 * dayMs);

  expect(await fixture.keep(30 * dayMs)).toMatchObject({ carried: 2_511, dropped: 1, complete: true });
  expect(await fixture.mark([...ids, 'kept', 'forgotten'])).toEqual(['forgotten']);
  expect(await fixture.mark(ids.slice(0, 11), 'another')).toEqual([ids[10]]);
  expect(await fixture.mark(later)).toHaveLength(10);
});

test('a keeper that ran out of time is continued by the next one', async () => {
  const ids = await live(2_500);
  await fixture.mark(ids);
  await fixture.roll();
  await fixture.pass(31 * dayMs);
  const stop = new AbortController();
  let steps = 0;
  const progress = (): void => {
    steps += 1;
    // After the window, ended messages, the epochs, and the first of three pages.
    if (steps === 4) stop.abort();
  };

  expect(await fixture.keep(30 * dayMs, { signal: stop.signal, progress })).toMatchObject({
    carried: 1_000,
    dropped: 0,
    complete: false,
  });
  expect(await fixture.mark(ids)).toEqual([]);
  expect(await fixture.keep(30 * dayMs)).toMatchObject({ carried: 1_500, dropped: 1, complete: true });
  expect(await fixture.mark(ids)).toEqual([]);
});

test('a keeper waits briefly for an open handler; others stall no longer than that, and each further try waits longer', async () => {
  await fixture.mark(['a']);
  await fixture.pass(7.5 * dayMs);
  const open = await openTransaction(fixture.url);
  await fixture.mark(['b'], 'g', open);

  const [startedAt, awakeMs] = [performance.now(), awake()];
  const keeping = fixture.keep(30 * dayMs);
  let longestMs = 0;
  for (let n = 0; n < 20; n += 1) {
    const beganMs = awakeMs();
    await fixture.mark([`meanwhile ${n}`]);
    longestMs = Math.max(longestMs, awakeMs() - beganMs);
  }
  expect(await keeping).toMatchObject({ rolled: false, complete: false });
  expect(performance.now() - startedAt).toBeGreaterThan(290);
  // 300 ms and what the machine takes. A wait for the patience of a late keeper would take 5 s.
  expect(longestMs).toBeLessThan(4_500);
  expect(await fixture.epochs()).toEqual([1]);

  await fixture.database.query('update outbox.processed_epoch set tries = 9');
  const late = fixture.keep(30 * dayMs);
  const committing = delay(1_000).then(() => open.commit());
  expect(await late).toMatchObject({ rolled: true, complete: true });
  await committing;
  expect(await fixture.mark(['a', 'b', 'meanwhile 0'])).toEqual([]);
});

test('a drop does not wait for a reader and delays handlers only briefly', async () => {
  await fixture.mark(['a']);
  await fixture.roll();
  await fixture.pass(31 * dayMs);
  const reader = await openTransaction(fixture.url);
  await readProcessed(reader, 'g', ['a']);

  expect(await fixture.keep(30 * dayMs)).toMatchObject({ dropped: 0, complete: false });
  await reader.commit();
  expect(await fixture.keep(30 * dayMs)).toMatchObject({ dropped: 1, complete: true });
});

test('of many keepers at once none fails, and each epoch is begun and dropped once', async () => {
  await fixture.mark(['a']);
  await fixture.roll();
  await fixture.mark(['b']);
  await fixture.pass(31 * dayMs);
  const kept = await Promise.all(Array.from({ length: 8 }, () => fixture.keep(30 * dayMs)));
  // They may all have been in each other's way.
  kept.push(await fixture.keep(30 * dayMs));

  expect(kept.at(-1)).toMatchObject({ complete: true });
  expect(kept.filter(({ rolled }) => rolled)).toHaveLength(1);
  expect(kept.reduce((sum, { dropped }) => sum + dropped, 0)).toBe(1);
  expect(await fixture.epochs()).toEqual([2, 3]);
});
