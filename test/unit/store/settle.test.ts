import { expect, test } from 'vitest';
import { isFailure, type SettledChange, type Settlement, settle } from '../../../src/store/lane/settle.ts';
import { ScriptedDatabase } from '../../support/fixtures/scripted-database.ts';

const pass = 'select outbox.pass(';
const changed = 'changed as (';
const takeOut = 'outbox.take_out(';
const settlement: Settlement = {
  owner: 'me',
  cursor: '9',
  snapshot: '7:7:',
  changes: [],
  claimSnapshot: '6:6:',
  durable: false,
};

/** @param logged ids of messages that the first change does not find */
function stage(ctid: string | null = '(0,4)', logged: readonly string[] = []) {
  const inLog = new Set(logged);
  const lane = { topic: 'orders', lane: 3 };
  const database = new ScriptedDatabase()
    .on(pass, [{ ctid }])
    .on(changed, ([ids]) => (ids as string[]).filter((id) => !inLog.delete(id)).map((id) => ({ id })))
    .on(takeOut, [])
    .on('outbox.note_blocked(', []);
  return {
    lane,
    database,
    settled: (given: Partial<Settlement>) => settle(database, lane, { ...settlement, ...given }),
  };
}

test('a settle without exceptions is one statement, which returns where the row is for the next one', async () => {
  const { database, settled } = stage();
  const batch = {
    id: 'b',
    firstPosition: '4',
    lastPosition: '8',
    count: 5,
    partitions: { 0: { first: '3', count: 5 } },
  };
  expect(await settled({})).toBe(true);
  expect(await settled({ batch, durable: true, snapshot: null })).toBe(true);
  const lane = ['orders', 3, 'me'];
  expect(database.valuesOf(pass)).toEqual([
    [
      ...lane,
      null,
      '9',
      '7:7:',
      10_000,
      null,
      null,
      null,
      null,
      '{}',
      false,
      null,
      null,
      false,
      null,
      false,
      null,
    ],
    [
      ...lane,
      '(0,4)',
      '9',
      null,
      10_000,
      'b',
      '4',
      '8',
      5,
      '{"0":{"first":"3","count":5}}',
      true,
      null,
      null,
      false,
      null,
      false,
      null,
    ],
  ]);
  expect(database.asked.map(({ part, inTransaction }) => [part, inTransaction])).toEqual([
    [pass, false],
    [pass, false],
  ]);
});

test('exceptions are written in the transaction of the cursor, after it, with all their details', async () => {
  const { database, settled } = stage();
  const changes: SettledChange[] = [
    { id: 'a', to: 'published', attempt: 'acknowledged', partition: 0, offset: '12' },
    {
      id: 'b',
      to: 'retrying',
      attempt: 'rejected',
      error: 'no\u0000t \u0000now',
      retryInMs: 500,
      maybePublished: true,
    },
    { id: 'c', to: 'blocked' },
    { id: 'd', to: 'failed', attempt: 'permanent', error: 'x'.repeat(2_001) },
  ];
  expect(await settled({ changes })).toBe(true);
  expect(database.asked.slice(0, 2).map(({ part, inTransaction }) => [part, inTransaction])).toEqual([
    [pass, true],
    [changed, true],
  ]);
  expect(database.valuesOf(changed)).toEqual([
    [
      ['a', 'b', 'c', 'd'],
      ['published', 'retrying', 'blocked', 'failed'],
      ['acknowledged', 'rejected', null, 'permanent'],
      [null, 'no\u2400t \u2400now', null, 'x'.repeat(2_000)],
      [null, 500, null, null],
      [false, true, false, false],
      [0, null, null, null],
      ['12', null, null, null],
      'orders',
      3,
      '6:6:',
    ],
  ]);
});

test('messages that are not found are taken out of the log and changed then', async () => {
  const { database, settled } = stage('(0,4)', ['b', 'c']);
  const changes = ['a', 'b', 'c'].map((id): SettledChange => ({ id, to: 'failed' }));
  expect(await settled({ changes })).toBe(true);
  expect(database.asked.map(({ part, inTransaction }) => [part, inTransaction])).toEqual([
    [pass, true],
    [changed, true],
    [takeOut, true],
    [changed, true],
  ]);
  expect(database.valuesOf(takeOut)).toEqual([[['b', 'c']]]);
  expect(database.valuesOf(changed).map(([ids]) => ids)).toEqual([
    ['a', 'b', 'c'],
    ['b', 'c'],
  ]);
});

test('a settle of a lane with another owner writes no exception', async () => {
  const { database, settled } = stage(null);
  expect(await settled({})).toBe(false);
  expect(await settled({ changes: [{ id: 'c', to: 'blocked' }] })).toBe(false);
  expect(database.valuesOf(changed)).toEqual([]);
});

test('a failure is the end of an attempt that was not acknowledged', () => {
  const attempts = ['rejected', 'ambiguous', 'permanent', 'acknowledged', undefined] as const;
  const failures = attempts.filter((attempt) =>
    isFailure({ id: 'a', to: 'blocked', ...(attempt && { attempt }) }),
  );
  expect(failures).toEqual(['rejected', 'ambiguous', 'permanent']);
});
