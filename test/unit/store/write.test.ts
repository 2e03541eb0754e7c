import { expect, test } from 'vitest';
import { cancelAudited } from '../../../src/store/message/cancel-audited.ts';
import type { NewMessage } from '../../../src/store/message/new-message.ts';
import { storeMessages } from '../../../src/store/message/write.ts';
import { ScriptedDatabase } from '../../support/fixtures/scripted-database.ts';

const one = 'select outbox.store_one(';
const many = 'select outbox.store_many(';
const json = 'select outbox.store_as_json(';
const unfit = { code: 'OUTBOX_CLIENT_UNFIT' };
const uuidV7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const storing = () =>
  new ScriptedDatabase()
    .on(one, ([, , , , , , id]) => [{ stored: JSON.stringify([id, 'w', 'ready', null]) }])
    .on(many, [{ stored: JSON.stringify(['w/', '3,4', null]) }])
    .on(json, [{ answers: JSON.stringify([[1, 'a', 'w', 'waiting', 5, true, null]]) }]);

test('one message is stored by the shortest function, with an id of the current time', async () => {
  const database = storing();
  const before = Date.now();
  const [answer] = await storeMessages(database, 'orders', [{ payload: '{}' }]);
  const [values] = database.valuesOf(one);
  expect(values?.slice(0, 6)).toEqual(['orders', '{}', null, null, null, null]);
  const id = String(answer?.id);
  expect(id).toMatch(uuidV7);
  const ms = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
  expect(ms).toBeGreaterThanOrEqual(before);
  expect(ms).toBeLessThanOrEqual(Date.now());
  expect(answer).toEqual({
    n: 1,
    id,
    workflowId: 'w',
    state: 'ready',
    dueAt: null,
    duplicate: false,
    unannounced: false,
    refusal: null,
  });

  const full: NewMessage = {
    payload: '1',
    key: 'k',
    headers: { a: 'b' },
    afterMs: 0,
    at: '2026-01-01T00:00:00Z',
  };
  database.on(one, [{ stored: JSON.stringify(['b', 'own', 'waiting', 1_500]) }]);
  expect((await storeMessages(database, 'orders', [full]))[0]?.dueAt).toEqual(new Date(1_500));
  expect(database.valuesOf(one)[1]?.slice(1, 6)).toEqual(['1', 'k', '{"a":"b"}', 0, '2026-01-01T00:00:00Z']);
});

test('several messages are one list per value, and none for a value that no message has', async () => {
  const database = storing();
  const answers = await storeMessages(database, 'orders', [
    { payload: '1' },
    { payload: '2', key: 'k', afterMs: 7 },
  ]);
  const [topic, ids, ...lists] = database.valuesOf(many)[0] ?? [];
  expect([topic, String(ids).split(',')]).toEqual(['orders', answers.map(({ id }) => id)]);
  expect(lists).toEqual(['1\u001e2', '\u001ek', null, '\u001e7', null]);
  expect(answers.map(({ n, workflowId, state, dueAt }) => [n, workflowId, state, dueAt])).toEqual([
    [1, 'w/3', 'ready', null],
    [2, 'w/4', 'ready', null],
  ]);
  database.on(many, [
    {
      stored: JSON.stringify([
        'w/',
        '3,4',
        [
          ['ready', null, null],
          ['waiting', 'own', 9],
        ],
      ]),
    },
  ]);
  const timed = await storeMessages(database, 'orders', [
    { payload: '1', headers: {} },
    { payload: '2', at: 'then' },
  ]);
  expect(timed.map(({ workflowId, state, dueAt }) => [workflowId, state, dueAt?.getTime()])).toEqual([
    ['w/3', 'ready', undefined],
    ['own', 'waiting', 9],
  ]);
  expect(database.valuesOf(many)[1]?.slice(3)).toEqual([null, '{}\u001e', null, '\u001ethen']);
});

test('a possible repeat, a key that a list cannot hold, and a refusal use the long function', async () => {
  for (const unusual of [
    { id: 'a' },
    { ref: 'r' },
    { contentType: 'text/plain' },
    { key: '' },
    { key: 'a\u001eb' },
  ]) {
    const database = storing();
    const messages = [{ payload: '1' }, { payload: '2', ...unusual }];
    expect(await storeMessages(database, 'orders', messages)).toEqual([
      {
        n: 1,
        id: 'a',
        workflowId: 'w',
        state: 'waiting',
        dueAt: new Date(5),
        duplicate: true,
        refusal: null,
      },
    ]);
    expect(database.asked.map(({ part, values }) => [part, ...values])).toEqual([
      [json, 'orders', JSON.stringify(messages)],
    ]);
  }
  for (const [count, part] of [
    [1, one],
    [2, many],
  ] as const) {
    const refusing = storing().on(part, [{ stored: null }]);
    await storeMessages(
      refusing,
      'orders',
      Array.from({ length: count }, () => ({ payload: '1' })),
    );
    expect(refusing.asked.map((asked) => asked.part)).toEqual([part, json]);
  }
  const dropping = storing().on(json, []);
  await expect(storeMessages(dropping, 'orders', [{ payload: '1', ref: 'r' }])).rejects.toMatchObject(unfit);
});

test('a cancel on behalf of an actor is in the audit, in its transaction, unless the message does not exist', async () => {
  const topic = 'select topic from outbox.message_all';
  const [cancel, audit] = ['select outbox.cancel(', 'insert into outbox.audit'];
  const database = new ScriptedDatabase().on(topic, [{ topic: 'orders' }]).on(audit, []);
  database.on(cancel, [{ answer: 'too-late' }]);
  expect(await cancelAudited(database, 'a', 'ann')).toBe('too-late');
  const [entry] = JSON.parse(String(database.valuesOf(audit)[0]?.[0])) as readonly object[];
  expect(entry).toMatchObject({
    actor: 'ann',
    action: 'cancel',
    message_id: 'a',
    topic: 'orders',
    result: 'too-late',
  });
  expect(database.asked.map(({ part, inTransaction }) => [part, inTransaction])).toEqual([
    [topic, true],
    [cancel, true],
    [audit, true],
  ]);
  const without = new ScriptedDatabase().on(topic, []);
  expect(await cancelAudited(without, 'a', 'ann')).toBe('unknown');
  expect(without.asked).toHaveLength(1);
});
