import { afterEach, beforeEach, expect, test } from 'vitest';
import { openTriedKeys, type TriedKeys } from '../support/tried-keys.ts';
import { openTransaction } from '../support/open-transaction.ts';
import { joinTry, returnTry } from '../../src/store/inbox/tries.ts';

let keys: TriedKeys;
beforeEach(async () => {
  keys = await openTriedKeys();
});
afterEach(() => keys.drop());

test('a try that is given back is not counted, and the next one is due when it was said', async () => {
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

test('a try is given back once, and not when another one has overtaken it', async () => {
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

test('a try that is given back is not joined any more, and giving it back waits for who has joined it', async () => {
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

test('a try that another try has overtaken is not joined', async () => {
  const { database, group } = keys;
  const keyId = await keys.park('k', '1');
  const first = await keys.begin(keyId);
  await keys.makeDue(keyId);
  const second = await keys.begin(keyId);

  expect(await database.transaction((sql) => joinTry(sql, group, keyId, [first], keys.worker))).toBe(false);
  expect(await database.transaction((sql) => joinTry(sql, group, keyId, [second], keys.worker))).toBe(true);
});
