import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ConfirmingTopic, Overdue } from '../../../src/relay/overdue.ts';
import type { Passed } from '../../../src/relay/passed-times.ts';
import type { RelayEvent } from '../../../src/relay/report.ts';
import { byNow, fakeTime, pass, realTime, soFar } from '../../support/fixtures/fake-time.ts';
import { ScriptedDatabase } from '../../support/fixtures/scripted-database.ts';

beforeEach(fakeTime);
afterEach(realTime);

const topics = 'from unnest($1::text[], $2::timestamptz[]) t(topic, begins)';
const since = '2026-01-01 10:00:00+00';
const next = '2026-01-01 09:59:59+00';
const lock = 'select id, partition, "offset", sends';
const postpone = 'm.id = any($1::uuid[]) and t.name = m.topic';
const resend = 'as count from resent';
const hold = 'select a.id from asked a';
const giveUp = `last_error = format(`;

const confirmation = { group: 'bills', maxSends: 3, receiptTimeoutMs: [1_000] };
const message = (id: string, offset: string, sends = 1) => ({
  id,
  partition: 0,
  offset,
  sends,
  before: false,
});
const passed: Passed = { offsets: new Map([[0, '10']]), before: undefined, soon: false };

/** Two topics that ask for receipts; the group has passed offset 9 of the partition 0. */
function stage(overrides: Partial<ConfirmingTopic> = {}) {
  const events: RelayEvent[] = [];
  const script = {
    passed: async (): Promise<Passed | undefined> => passed,
    asked: [] as (readonly unknown[])[],
  };
  const database = new ScriptedDatabase()
    .on(topics, [
      { topic: 'orders', unplaced: false, since, next },
      { topic: 'bills', unplaced: null, since: null, next },
    ])
    .on(lock, [])
    .on(postpone, [])
    .on(resend, ([ids]) => [{ count: (ids as string[]).length }])
    .on(hold, ([, ids]) => (ids as string[]).map((id) => ({ id })))
    .on(giveUp, ([ids]) =>
      (ids as string[]).map((id) => ({ id, key: 'k', lane: 2, sends: 3, error: 'no receipt' })),
    );
  const topic = (name: string): ConfirmingTopic => ({
    name,
    address: `${name}-address`,
    transport: 'kafka',
    visible: true,
    confirm: confirmation,
    offsets: {
      passed: (...place) => {
        script.asked.push(place);
        return script.passed();
      },
    },
    ...overrides,
  });
  const overdue = new Overdue(database, [topic('orders'), topic('bills')], (event) => events.push(event));
  return { overdue, database, events, script };
}

test('each overdue message has its verdict, all of a batch in one transaction', async () => {
  const { overdue, database, events, script } = stage();
  database.on(lock, [
    message('early', '10'),
    message('again', '9'),
    message('last', '8', 3),
    message('also', '7', 2),
  ]);
  await byNow(overdue.check());
  expect(script.asked).toEqual([['bills', 'orders-address', false]]);
  expect(database.valuesOf(topics)).toEqual([
    [
      ['orders', 'bills'],
      [null, null],
    ],
  ]);
  expect(database.asked.slice(1)).toEqual(
    [
      [lock, ['orders', 500, null, since]],
      [hold, ['orders', ['last']]],
      [postpone, [['early']]],
      [resend, [['again', 'also'], ['last']]],
      [giveUp, [['last'], 'bills']],
    ].map(([part, values]) => ({ part, values, inTransaction: true })),
  );
  expect(events).toEqual([
    { type: 'messages-resent', topic: 'orders', count: 2 },
    { type: 'messages-unconfirmed', topic: 'orders', count: 1 },
    {
      type: 'failed',
      topic: 'orders',
      lane: 2,
      id: 'last',
      key: 'k',
      attempt: 3,
      error: 'no receipt',
      outcome: 'unconfirmed',
      transport: 'kafka',
      address: 'orders-address',
    },
  ]);
});

test('messages without a place are judged by time, and those that wait are not asked for again in the round', async () => {
  const { overdue, database, script } = stage();
  database.on(topics, [{ topic: 'orders', unplaced: true, since, next }]);
  script.passed = async () => ({ ...passed, before: '2026-01-01', soon: true });
  const unplaced = (id: string) => ({ ...message(id, '9'), partition: null, offset: null });
  database.on(lock, [
    { ...unplaced('again'), before: true },
    ...Array.from({ length: 499 }, () => unplaced('later')),
  ]);
  await byNow(overdue.check());
  expect(script.asked).toEqual([['bills', 'orders-address', true]]);
  expect(database.asked.slice(1)).toEqual(
    [
      [lock, ['orders', 500, '2026-01-01', since]],
      [resend, [['again'], []]],
    ].map(([part, values]) => ({ part, values, inTransaction: true })),
  );
});

test('a check begins where no earlier message was overdue, and one in ten seconds at the start', async () => {
  const { overdue, database } = stage();
  const begins = () => database.valuesOf(topics).map(([, from]) => from);
  await byNow(overdue.check());
  await pass(9_999);
  await byNow(overdue.check());
  await pass(1);
  await byNow(overdue.check());
  expect(begins()).toEqual([
    [null, null],
    [next, next],
    [null, null],
  ]);
});

test('keys of a topic that hides them are not reported', async () => {
  const { overdue, database, events } = stage({ visible: false });
  database.on(lock, [message('last', '8', 3)]);
  await byNow(overdue.check());
  expect(events.at(-1)).toMatchObject({ type: 'failed', key: null });
});

test('a round handles up to ten full batches, and ends with one that is not full', async () => {
  for (const [sizes, batches] of [
    [[500, 500, 3], 3],
    [Array.from({ length: 20 }, () => 500), 10],
  ] as const) {
    const { overdue, database, script } = stage();
    const left = [...sizes];
    database.on(lock, () => Array.from({ length: left.shift() ?? 0 }, (_, n) => message(`id-${n}`, '3')));
    await byNow(overdue.check());
    expect(database.valuesOf(lock)).toHaveLength(batches);
    expect(script.asked).toHaveLength(1);
  }
});

test('no row is locked before all receipts are read, or if the broker cannot be asked', async () => {
  const unread = stage();
  unread.script.passed = async () => undefined;
  await byNow(unread.overdue.check());
  expect(unread.database.valuesOf(lock)).toEqual([]);
  expect(unread.events).toEqual([]);

  const away = stage();
  const error = new Error('no broker');
  away.database.on(
    topics,
    ['orders', 'unknown', 'bills'].map((topic) => ({ topic, unplaced: false, since, next })),
  );
  let n = 0;
  away.script.passed = () =>
    ++n === 1 ? Promise.reject(error) : Promise.resolve({ ...passed, offsets: new Map() });
  await byNow(away.overdue.check());
  expect(away.events).toEqual([{ type: 'error', during: 'overdue', error }]);
  expect(away.database.valuesOf(lock).map(([name]) => name)).toEqual(['bills']);
});

test('a failure of the database is reported, and the next round asks again', async () => {
  const { overdue, database, events } = stage();
  const error = new Error('no connection');
  database.refuse(topics, error);
  await byNow(overdue.check());
  expect(events).toEqual([{ type: 'error', during: 'overdue', error }]);
  database.on(topics, []);
  await byNow(overdue.check());
  expect(events).toHaveLength(1);
});

test('a stop waits for the batch in hand but for no broker, and nothing begins after it', async () => {
  const writing = stage();
  writing.database.on(lock, async () => {
    await new Promise((resolve) => setTimeout(resolve, 100));
    return Array.from({ length: 500 }, (_, n) => message(`id-${n}`, '3'));
  });
  void writing.overdue.check();
  await pass(0);
  const stopped = soFar(writing.overdue.stop());
  await pass(99);
  expect(stopped.state).toBe('open');
  await pass(1);
  expect(stopped.state).toBe('resolved');
  expect(writing.database.valuesOf(lock)).toHaveLength(1);
  expect(writing.database.valuesOf(resend)).toHaveLength(1);
  await byNow(writing.overdue.check());
  expect(writing.database.valuesOf(topics)).toHaveLength(1);

  const asking = stage();
  asking.script.passed = () => new Promise(() => undefined);
  void asking.overdue.check();
  await pass(0);
  const left = soFar(asking.overdue.stop());
  await pass(0);
  expect(left.state).toBe('resolved');
  expect(asking.database.valuesOf(lock)).toEqual([]);
  expect(asking.events).toEqual([]);
});
