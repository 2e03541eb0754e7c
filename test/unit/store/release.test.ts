import { afterEach, beforeEach, expect, test } from 'vitest';
import { emptyHands } from '../../../src/store/lane/lanes-empty.ts';
import { lanesOfNudge, sendNudge } from '../../../src/store/lane/nudge.ts';
import { readOutcomes, sweep } from '../../../src/store/message/release.ts';
import { fakeTime, realTime } from '../../support/fixtures/fake-time.ts';
import { ScriptedDatabase } from '../../support/fixtures/scripted-database.ts';

beforeEach(fakeTime);
afterEach(realTime);

const live = 'from outbox.message_view where id = any';
const archived = 'from outbox.message_history';
const row = (id: string, state: string, dueInMs: number | null = null) => ({
  id,
  state,
  dueInMs,
  partition: 2,
  offset: '7',
});

test('a workflow gets what its message waits for, or its outcome, also from the history', async () => {
  const database = new ScriptedDatabase()
    .on(live, [
      row('soon', 'waiting', 5),
      row('due', 'waiting', 0),
      row('late', 'retrying', -3),
      row('again', 'retrying', 7),
      row('without', 'waiting'),
      row('ready', 'ready'),
      row('blocked', 'blocked'),
      row('sent', 'published'),
      row('failed', 'failed'),
    ])
    .on(archived, [{ id: 'old', state: 'confirmed', partition: 1, offset: '3' }]);
  const ids = [
    'soon',
    'due',
    'late',
    'again',
    'without',
    'ready',
    'blocked',
    'sent',
    'failed',
    'old',
    'gone',
  ];
  const answers = await readOutcomes(database, ids);
  const done = { kind: 'done', partition: 2, offset: '7' };
  expect(Object.fromEntries(answers)).toEqual({
    soon: { kind: 'waiting', dueInMs: 5 },
    due: { kind: 'locked' },
    late: { kind: 'locked' },
    again: { kind: 'waiting', dueInMs: 7 },
    without: { kind: 'locked' },
    ready: { kind: 'ready' },
    blocked: { kind: 'ready' },
    sent: { ...done, state: 'published' },
    failed: { ...done, state: 'failed' },
    old: { kind: 'done', state: 'confirmed', partition: 1, offset: '3' },
    gone: { kind: 'unknown' },
  });
  expect(database.valuesOf(archived)).toEqual([[['old', 'gone']]]);
});

test('the history is not queried if all messages are live', async () => {
  const database = new ScriptedDatabase().on(live, [row('a', 'ready')]);
  expect((await readOutcomes(database, ['a'])).size).toBe(1);
  expect(database.asked).toHaveLength(1);
});

test('a sweep begins where the last one ended and names the lanes of the released messages', async () => {
  const database = new ScriptedDatabase().on('from outbox.sweep(', [
    { released: 3, next: 'n', lanes: 'orders/1 bills/12' },
  ]);
  const swept = await sweep(database, ['punctual'], 50);
  expect(swept).toEqual({
    released: 3,
    lanes: [
      { topic: 'orders', lane: 1 },
      { topic: 'bills', lane: 12 },
    ],
  });
  expect(database.asked[0]?.values).toEqual([['punctual'], 50, 200, null]);
  database.on('from outbox.sweep(', []);
  expect(await sweep(database, [], 50)).toEqual({ released: 0, lanes: [] });
});

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
