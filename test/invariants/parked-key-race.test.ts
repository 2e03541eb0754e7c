import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Sql } from '../../src/store/database/database.ts';
import { type KeptMessage, park } from '../../src/store/inbox/park.ts';
import { noteArrivals } from '../../src/store/inbox/receive.ts';
import { type BegunTry, beginTry, endTry, joinTry } from '../../src/store/inbox/tries.ts';
import { createTestDatabase, type TestDatabase } from '../support/fixtures/database.ts';
import { openTransaction } from '../support/fixtures/open-transaction.ts';
import { until } from '../support/fixtures/until.ts';

let made: TestDatabase;
beforeEach(async () => {
  made = await createTestDatabase();
});
afterEach(() => made.drop());

const group = 'shop';
const rules = { retryMs: [0, 0, 0], blockKey: false, maxKills: 3 };
const hand = { worker: '1', most: 10, alone: false };

const message = (id: string) => ({ id, topic: 'orders', key: 'k' });

const kept = (id: string, attempts: number): KeptMessage => ({
  ...message(id),
  address: 'orders',
  partition: 0,
  offset: id,
  wire: '{"key":"k","headers":{}}',
  body: null,
  sentAt: new Date(0),
  state: 'parked',
  blocksKey: false,
  attempts,
  reason: null,
  error: null,
});

/** What a consumer does with a message whose handler fails. */
async function parkFirst(sql: Sql, id: string): Promise<void> {
  expect(await noteArrivals(sql, group, [message(id)])).toEqual(['new']);
  await park(sql, group, [kept(id, 1)], 0);
}

/** What it does with the next one of the key. */
async function receiveNext(sql: Sql, id: string): Promise<string | undefined> {
  const [arrival] = await noteArrivals(sql, group, [message(id)]);
  if (arrival === 'behind') await park(sql, group, [kept(id, 0)], 0);
  return arrival;
}

async function theKey(): Promise<string> {
  const [row] = await made.database.query<{ id: string }>('select id from outbox.parked_key');
  return row?.id ?? '';
}

async function begun(keyId: string): Promise<BegunTry> {
  const answer = await made.database.transaction((sql) => beginTry(sql, keyId, rules, hand));
  if (answer.kind !== 'try') throw new Error(`Nothing to try: ${answer.kind}.`);
  return answer.message;
}

/** The key is parked with message 5, whose retry has begun. */
async function fiveBegun(): Promise<{ readonly keyId: string; readonly five: BegunTry }> {
  await made.database.transaction((sql) => parkFirst(sql, '5'));
  const keyId = await theKey();
  return { keyId, five: await begun(keyId) };
}

/** Whether somebody waits for a lock. */
const waits = () =>
  made.database
    .query(
      `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database() limit 1`,
    )
    .then((rows) => rows.length > 0);

test('I3: a message that queues while its key is drained keeps the key parked and follows in order', {
  tags: ['order-survives-parking'],
}, async () => {
  const { keyId, five } = await fiveBegun();

  // The consumer sees the key parked and adds 6, but has not committed.
  const consumer = await openTransaction(made.url);
  expect(await receiveNext(consumer, '6')).toBe('behind');
  // The retry finishes 5 and finds no other message; it does not wait for the consumer either.
  const ended = await made.database.transaction(async (sql) => {
    expect(await joinTry(sql, group, keyId, [five], hand.worker)).toBe(true);
    return endTry(sql, group, keyId, ['5']);
  });
  expect(ended).toBe('more');
  expect((await made.database.transaction((sql) => beginTry(sql, keyId, rules, hand))).kind).toBe('busy');
  await consumer.commit();

  expect((await begun(keyId)).id).toBe('6');
  expect(await made.database.transaction((sql) => receiveNext(sql, '7'))).toBe('behind');
});

test('while a key is parked, only messages of that key queue: not those of others, of other topics, or without a key', async () => {
  await fiveBegun();
  const others = [
    { id: '6', topic: 'orders', key: 'l' },
    { id: '7', topic: 'letters', key: 'k' },
    { id: '8', topic: 'orders', key: null },
  ];

  const arrivals = await made.database.transaction((sql) =>
    noteArrivals(sql, group, [message('9'), ...others]),
  );

  expect(arrivals).toEqual(['behind', 'new', 'new', 'new']);
});

test('the next try of a key whose queue has become empty ends the key', async () => {
  const { keyId, five } = await fiveBegun();
  const consumer = await openTransaction(made.url);
  expect(await receiveNext(consumer, '6')).toBe('behind');
  await made.database.transaction(async (sql) => {
    expect(await joinTry(sql, group, keyId, [five], hand.worker)).toBe(true);
    expect(await endTry(sql, group, keyId, ['5'])).toBe('more');
  });
  await consumer.rollback();

  expect((await made.database.transaction((sql) => beginTry(sql, keyId, rules, hand))).kind).toBe('gone');
  expect(await made.database.query('select from outbox.parked_key')).toEqual([]);
});

test.each([
  ['parked', kept('1', 1)],
  ['failed, to block its key', { ...kept('1', 1), state: 'failed' as const, blocksKey: true }],
])(
  'a batch that waited for a message that another consumer %s is refused, so that nothing overtakes it',
  async (_, one) => {
    // Frozen with the first message of the key parked, but not committed.
    const frozen = await openTransaction(made.url);
    expect(await noteArrivals(frozen, group, [message('1')])).toEqual(['new']);
    await park(frozen, group, [one], 0);
    const batch = made.database.transaction((sql) => noteArrivals(sql, group, [message('1'), message('2')]));
    // Caught before it happens, or it would count as an unhandled error.
    const refusal = batch.then(
      () => undefined,
      (error: unknown) => error,
    );
    await until(waits);
    await frozen.commit();

    expect(await refusal).toMatchObject({ code: '40001' });
    expect(await made.database.transaction((sql) => receiveNext(sql, '1'))).toBe('kept');
    expect(await made.database.transaction((sql) => receiveNext(sql, '2'))).toBe('behind');
  },
);

test('I3, in the other order: a message that arrives while its key ends is handled after the last one is committed', {
  tags: ['order-survives-parking'],
}, async () => {
  const { keyId, five } = await fiveBegun();

  // The retry has finished 5 and ended the key, but has not committed.
  const drain = await openTransaction(made.url);
  expect(await joinTry(drain, group, keyId, [five], hand.worker)).toBe(true);
  expect(await endTry(drain, group, keyId, ['5'])).toBe('gone');
  let arrival: string | undefined;
  const consumer = made.database.transaction(async (sql) => {
    arrival = await receiveNext(sql, '6');
  });
  await until(waits);
  expect(arrival, 'not before 5 is committed').toBeUndefined();
  await drain.commit();

  await consumer;
  expect(arrival).toBe('new');
  expect(await made.database.query('select from outbox.parked')).toEqual([]);
  expect(await made.database.query('select from outbox.parked_key')).toEqual([]);
});

test('I3, when the drain is rolled back: a message that waited for it queues', async () => {
  const { keyId, five } = await fiveBegun();
  const drain = await openTransaction(made.url);
  expect(await joinTry(drain, group, keyId, [five], hand.worker)).toBe(true);
  expect(await endTry(drain, group, keyId, ['5'])).toBe('gone');
  const consumer = made.database.transaction((sql) => receiveNext(sql, '6'));
  await until(waits);
  await drain.rollback();

  expect(await consumer).toBe('behind');
  const rows = await made.database.query<{ id: string }>(
    'select message_id as id from outbox.parked order by position',
  );
  expect(rows.map(({ id }) => id)).toEqual(['5', '6']);
});

test('a second drain of a key that is being tried does nothing', async () => {
  const { keyId, five } = await fiveBegun();
  const first = await openTransaction(made.url);
  expect(await joinTry(first, group, keyId, [five], hand.worker)).toBe(true);

  const second = await made.database.transaction((sql) => beginTry(sql, keyId, rules, hand));

  expect(second.kind).toBe('busy');
  await first.rollback();
});
