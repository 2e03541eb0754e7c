import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { beginTry, endTry, failTry, joinTry, returnTry } from '../../../src/store/inbox/tries.ts';
import { openTransaction } from '../../support/fixtures/open-transaction.ts';
import { pagesOf, planNodes, statementOf } from '../../support/fixtures/query-plan.ts';
import { openTriedKeys, type TriedKeys } from '../../support/fixtures/tried-keys.ts';

let keys: TriedKeys;
beforeAll(async () => {
  keys = await openTriedKeys();
});
afterEach(() => keys.clear());
afterAll(() => keys.drop());

test('a returned try is not counted, and the next one is due at the given time', {
  tags: ['replaced-try-does-nothing'],
}, async () => {
  const { database, group } = keys;
  const keyId = await keys.park('k', '1');
  const first = await keys.begin(keyId);
  expect(first.attempts).toBe(2);

  expect(await returnTry(database, group, keyId, first, 60_000)).toBe(true);

  expect(await keys.answer(keyId)).toMatchObject({ kind: 'wait', inMs: expect.closeTo(60_000, -4) });
  expect(await keys.attempts('1')).toBe(1);
  await keys.makeDue(keyId);
  expect((await keys.begin(keyId)).attempts).toBe(2);
});

test('a try is returned at most once, and not after another one has overtaken it', async () => {
  const { database, group } = keys;
  const keyId = await keys.park('k', '1');
  const first = await keys.begin(keyId);
  expect(await returnTry(database, group, keyId, first, 0)).toBe(true);
  expect(await returnTry(database, group, keyId, first, 0)).toBe(false);

  // It has as many attempts as the first one, and is not its.
  const second = await keys.begin(keyId);
  expect(second.attempts).toBe(first.attempts);
  expect(await returnTry(database, group, keyId, first, 0)).toBe(false);
  expect(await keys.attempts('1')).toBe(second.attempts);
});

test('a returned try cannot be joined, and returning it waits for those that have joined it', async () => {
  const { database, group, url } = keys;
  const keyId = await keys.park('k', '1');
  const first = await keys.begin(keyId);
  const handler = await openTransaction(url);
  expect(await joinTry(handler, group, keyId, [first], keys.worker)).toBe(true);
  let returned: boolean | undefined;
  const returning = returnTry(database, group, keyId, first, 0).then((answer) => (returned = answer));
  await keys.untilWaiting();
  expect(returned).toBeUndefined();
  await handler.rollback();
  await returning;
  expect(returned).toBe(true);

  await keys.begin(keyId);
  expect(await database.transaction((sql) => joinTry(sql, group, keyId, [first], keys.worker))).toBe(false);
});

test('an overtaken try cannot be joined', { tags: ['replaced-try-does-nothing'] }, async () => {
  const { database, group } = keys;
  const keyId = await keys.park('k', '1');
  const first = await keys.begin(keyId);
  await keys.makeDue(keyId);
  const second = await keys.begin(keyId);

  expect(await database.transaction((sql) => joinTry(sql, group, keyId, [first], keys.worker))).toBe(false);
  expect(await database.transaction((sql) => joinTry(sql, group, keyId, [second], keys.worker))).toBe(true);
});

test('messages that were never tried are started and ended together, up to the limit, and use up no attempt', async () => {
  const { database, group, worker } = keys;
  const keyId = await keys.park('k', '1', '2', '3', '4');
  await database.query(`update outbox.parked set attempts = 0 where message_id <> '4'`);
  const begun = await keys.answer(keyId, { most: 10 });
  if (begun.kind !== 'try') throw new Error(begun.kind);
  const messages = [begun.message, ...begun.others];
  expect(messages).toMatchObject([
    { id: '1', attempts: 1 },
    { id: '2', attempts: 1 },
    { id: '3', attempts: 1 },
  ]);
  expect(await keys.attempts('1')).toBe(0);

  const ended = await database.transaction(async (sql) => {
    expect(await joinTry(sql, group, keyId, messages, worker)).toBe(true);
    return endTry(
      sql,
      group,
      keyId,
      messages.map(({ id }) => id),
    );
  });
  expect(ended).toBe('more');
  expect(await keys.begin(keyId, { most: 10 })).toMatchObject({ id: '4', attempts: 2 });
});

test.each(['wire', 'body'])(
  'messages started together have at most a mebibyte of bodies and headers besides the first: %s',
  async (of) => {
    const { database } = keys;
    const keyId = await keys.park('k', '1', '2', '3', '4');
    const large = {
      wire: `jsonb_build_object('key', null, 'headers', '{}'::jsonb, 'more', repeat('x', 600000))::text`,
      body: `convert_to(repeat('x', 600000), 'UTF8')`,
    };
    await database.query(`update outbox.parked set attempts = 0, ${of} = ${large[of as keyof typeof large]}`);

    const begun = await keys.answer(keyId, { most: 10 });

    if (begun.kind !== 'try') throw new Error(begun.kind);
    expect(begun.others.map(({ id }) => id)).toEqual(['2']);
  },
);

test('a try of many messages cannot be joined once an operator has discarded one of them', async () => {
  const { database, group, worker } = keys;
  const keyId = await keys.park('k', '1', '2');
  await database.query('update outbox.parked set attempts = 0');
  const begun = await keys.answer(keyId, { most: 10 });
  if (begun.kind !== 'try') throw new Error(begun.kind);
  await database.query(`select outbox.discard_kept($1, '2')`, [group]);

  const messages = [begun.message, ...begun.others];
  expect(messages).toHaveLength(2);
  expect(await database.transaction((sql) => joinTry(sql, group, keyId, messages, worker))).toBe(false);
});

test('a message returned to its old place in the queue comes before later ones', async () => {
  const { database, group, worker } = keys;
  const keyId = await keys.park('k', '1', '2', '3', '4');
  const end = (id: string) => database.transaction((sql) => endTry(sql, group, keyId, [id]));
  const first = await keys.begin(keyId);
  await database.transaction((sql) =>
    failTry(
      sql,
      group,
      keyId,
      { message: first, reason: 'error', error: 'Error: no', final: true },
      { retryMs: [0], blockKey: false },
    ),
  );
  expect((await keys.begin(keyId)).id).toBe('2');
  await end('2');
  const third = await keys.begin(keyId);
  await database.query(`select outbox.retry_kept($1, '1')`, [group]);
  await database.transaction(async (sql) => {
    expect(await joinTry(sql, group, keyId, [third], worker)).toBe(true);
    await endTry(sql, group, keyId, [third.id]);
  });

  expect((await keys.begin(keyId)).id).toBe('1');
  await end('1');
  expect((await keys.begin(keyId)).id).toBe('4');
});

test('a message added late before the beginning of the queue is not left behind', async () => {
  const { database, group } = keys;
  const keyId = await keys.park('k', '1', '2', '3');
  // Of another partition, committed after the ones behind it had been handled.
  await database.query(`update outbox.parked set key_id = gen_random_uuid() where message_id = '1'`);
  for (const id of ['2', '3']) {
    expect((await keys.begin(keyId)).id).toBe(id);
    if (id === '3')
      await database.query(`update outbox.parked set key_id = $1 where message_id = '1'`, [keyId]);
    expect(await database.transaction((sql) => endTry(sql, group, keyId, [id]))).toBe('more');
  }

  expect((await keys.begin(keyId)).id).toBe('1');
  expect(await database.transaction((sql) => endTry(sql, group, keyId, ['1']))).toBe('gone');
});

test('a try reads almost nothing of the messages handled before it, while an old snapshot prevents their removal', {
  tags: ['hot-key-leaves-parking'],
}, async () => {
  const { database, group, url } = keys;
  const count = 3_000;
  const keyId = await keys.park('k', '0');
  await database.query(
    `insert into outbox.parked (consumer_group, message_id, key_id, topic, key, address, partition, "offset", wire, sent_at, body)
     select $1, 'm' || n, $2, 'orders', 'k', 'orders', 0, n, '{}', now(), convert_to(repeat('x', 1500), 'UTF8') from generate_series(1, $3::integer) n`,
    [group, keyId, count],
  );
  const old = await openTransaction(url);
  await old.query('set transaction isolation level repeatable read');
  await old.query('select count(*) from outbox.parked');
  for (let ended = 0; ended < count - 100; ) {
    const begun = await keys.answer(keyId, { most: 100 });
    if (begun.kind !== 'try') throw new Error(begun.kind);
    const ids = [begun.message, ...begun.others].map(({ id }) => id);
    await database.transaction((sql) => endTry(sql, group, keyId, ids));
    ended += ids.length;
  }

  const { text, values } = await statementOf((sql) =>
    beginTry(sql, keyId, keys.rules, { worker: keys.worker, most: 1, alone: false }),
  );
  expect(pagesOf(await planNodes(database, text, values)), 'the queue has more than 600 pages').toBeLessThan(
    250,
  );
  await old.rollback();
});

test('a try has the delays of its topic, and a consumer without its handler gives none up', {
  tags: ['retry-delays-apply-everywhere'],
}, async () => {
  const { database, rules } = keys;
  const hand = { worker: keys.worker, most: 1, alone: false };
  const begin = async (keyId: string, byTopic: object) => {
    await keys.makeDue(keyId);
    const topics = { byTopic: JSON.stringify(byTopic), elsewhereMs: 30_000 };
    return database.transaction((sql) => beginTry(sql, keyId, { ...rules, retryMs: [10] }, hand, topics));
  };
  const nextInS = async (keyId: string) => {
    const [row] = await database.query<{ s: number }>(
      'select round(extract(epoch from next_at - outbox.clock()))::integer as s from outbox.parked_key where id = $1',
      [keyId],
    );
    return row?.s;
  };
  const mine = await keys.park('a', '1');
  const none = await keys.park('b', '2');
  const elsewhere = await keys.park('c', '3');
  // As after a second try that was not ended: with one delay it was the last.
  await database.query('update outbox.parked set attempts = 2');

  expect(await begin(mine, { orders: [10, 20_000, 70_000] })).toMatchObject({ kind: 'try' });
  expect(await nextInS(mine)).toBe(70);
  expect(await begin(none, { orders: [] })).toMatchObject({ kind: 'gone', gaveUp: '2' });
  expect(await begin(elsewhere, { others: [] })).toMatchObject({ kind: 'try', message: { attempts: 3 } });
  expect(await nextInS(elsewhere)).toBe(30);
});

test('a try that one process has begun no other begins for five seconds, however short the delays', {
  tags: ['parked-tried-without-temporal'],
}, async () => {
  const { group } = keys;
  const [short, none] = [await keys.park('k', '1'), await keys.park('l', '2')];
  const other = keys.process('8');
  for (const [keyId, how] of [
    [short, { retryMs: [1, 1, 1] }],
    [none, { retryMs: [] }],
  ] as const) {
    // A message that was never tried, as behind one that was: without delays any other would have had its last try.
    await keys.database.query('update outbox.parked set attempts = 0 where key_id = $1', [keyId]);
    const begun = await keys.begin(keyId, how);
    expect(await other.answer(keyId, how)).toMatchObject({ kind: 'wait', inMs: expect.closeTo(5_000, -4) });
    const joined = keys.database.transaction((sql) => joinTry(sql, group, keyId, [begun], keys.worker));
    expect(await joined).toBe(true);
    expect(await keys.attempts(begun.id)).toBe(1);
  }
});
