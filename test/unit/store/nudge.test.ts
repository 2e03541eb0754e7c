import { expect, test } from 'vitest';
import { emptyHands } from '../../../src/store/lane/lanes-empty.ts';
import { lanesOfNudge, sendNudge } from '../../../src/store/lane/nudge.ts';
import { ScriptedDatabase } from '../../support/fixtures/scripted-database.ts';

test('a nudge names its lanes, or none if they are too many for a notification', async () => {
  const database = new ScriptedDatabase().on('pg_notify(', []);
  const lanes = (count: number) => Array.from({ length: count }, (_, lane) => ({ topic: 'orders', lane }));
  await sendNudge(database, lanes(2));
  await sendNudge(database, lanes(2_000));
  expect(database.asked.map(({ values }) => values)).toEqual([['orders/0 orders/1'], ['']]);
  const long = 'x'.repeat(7_898);
  for (const [topic, payload] of [
    [long, `${long}/0`],
    [`${long}x`, ''],
  ] as const) {
    await sendNudge(database, [{ topic, lane: 0 }]);
    expect(database.asked.at(-1)?.values).toEqual([payload]);
  }
  expect(lanesOfNudge('orders/0 a.b-c/17')).toEqual([
    { topic: 'orders', lane: 0 },
    { topic: 'a.b-c', lane: 17 },
  ]);
  expect(['', 'orders', 'orders/', '/1', 'a/b/1', 'a/1x'].flatMap(lanesOfNudge)).toEqual([]);
});

test('a lane has nothing in hand once it was taken and freed, with what a dead owner may have sent in its row', async () => {
  const acquire = 'outbox.lane_taken(l) as taken';
  const suspect = 'set suspect = pg_current_snapshot()';
  const [free, abandon] = ['set owner = null', `alive_until = '-infinity'`];
  for (const [found, marked, empty, parts] of [
    [undefined, true, false, [acquire]],
    [{ lapsed: false }, true, true, [acquire, free]],
    [{ lapsed: true }, true, true, [acquire, suspect, free]],
    [{ lapsed: true }, false, false, [acquire, suspect]],
    [{ lapsed: true }, new Error('no connection'), 'no connection', [acquire, suspect, abandon]],
  ] as const) {
    const database = new ScriptedDatabase().on(free, []).on(abandon, []);
    database.on(acquire, found === undefined ? [] : [found]);
    if (marked instanceof Error) database.refuse(suspect, marked);
    else database.on(suspect, marked ? [{ place: '(0,1)', suspect: '7:7:' }] : []);
    const answer = await emptyHands(database, { topic: 'orders', lane: 3 }).catch(
      ({ message }: Error) => message,
    );
    expect(answer).toBe(empty);
    // By the place of the row or by its key: both count once.
    expect([...new Set(database.asked.map(({ part }) => part))]).toEqual(parts);
    const owners = new Set(database.asked.map(({ values }) => values[2]));
    expect(owners.size).toBe(1);
    if (parts.at(-1) === free) expect(database.asked.at(-1)?.values[3]).toBe(false);
  }
});
