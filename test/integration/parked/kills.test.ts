import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Sql } from '../../../src/store/database/database.ts';
import { discardKept, retryKept } from '../../../src/store/inbox/change.ts';
import { markCopied } from '../../../src/store/inbox/dead-letters.ts';
import { endDeadTries, markKeysTold } from '../../../src/store/inbox/parked-keys.ts';
import {
  type BegunTry,
  beginTry,
  endTry,
  failTry,
  joinTry,
  returnTry,
} from '../../../src/store/inbox/tries.ts';
import { addBystanders, rehearsed } from '../../support/fixtures/bystanders.ts';
import { openTriedKeys, type TriedKeys } from '../../support/fixtures/tried-keys.ts';
import { until } from '../../support/fixtures/until.ts';

let keys: TriedKeys;
beforeEach(async () => {
  keys = await openTriedKeys();
});
afterEach(() => keys.drop());

async function rows(): Promise<readonly unknown[]> {
  return keys.database.query(
    'select message_id as id, state, attempts, kills, reason from outbox.parked order by position',
  );
}

test('a try of a dead process ends at once: it counts as a kill, not as an attempt, and its key is due', async () => {
  const keyId = await keys.park('k', '1');
  const [doomed, other] = [keys.process('1'), keys.process('2')];
  const begun = await doomed.begin(keyId);
  expect(await other.bury()).toEqual({ keys: [], gaveUp: [], others: true });
  expect(await other.answer(keyId)).toMatchObject({ kind: 'wait' });

  await doomed.die();

  const dead = await other.bury();
  expect(dead.keys).toMatchObject([{ keyId, dueInMs: 0, replace: 'always' }]);
  expect(await rows()).toMatchObject([{ state: 'parked', attempts: 1, kills: 1 }]);
  expect(await other.bury()).toEqual({ keys: [], gaveUp: [], others: false });
  // Its transaction may live on for a moment.
  const late = keys.database.transaction((sql) => joinTry(sql, keys.group, keyId, [begun], '1'));
  expect(await late).toBe(false);
});

test('a message in hand when a process died is tried alone, and failed at its third death', async () => {
  const keyId = await keys.park('k', '1');
  const next = await keys.park('next', '2');
  const last = keys.process('9');
  for (const death of [1, 2, 3]) {
    const doomed = keys.process(String(death));
    if (death > 1) expect((await doomed.answer(keyId)).kind).toBe('suspect');
    expect((await doomed.begin(keyId, { alone: true })).attempts).toBe(2);
    await doomed.die();
    expect((await last.bury()).gaveUp).toEqual(death === 3 ? ['1'] : []);
  }

  expect(await rows()).toMatchObject([
    { id: '1', state: 'failed', reason: 'killed', attempts: 1, kills: 3 },
    { id: '2', state: 'parked', attempts: 1, kills: 0 },
  ]);
  expect((await last.begin(next)).id).toBe('2');
});

test('messages in hand together with one that kills lose no try and are suspected once', {
  tags: ['killing-message-fails'],
}, async () => {
  const killer = await keys.park('killer', '1');
  const innocent = await keys.park('innocent', '2');
  const first = keys.process('1');
  await first.begin(killer);
  await first.begin(innocent);
  await first.die();
  const last = keys.process('9');
  expect((await last.bury({ maxKills: 1 })).gaveUp, 'nobody knows which of them it was').toEqual([]);
  const second = keys.process('2');
  await second.begin(killer, { alone: true });
  await second.die();
  expect((await last.bury({ maxKills: 1 })).gaveUp).toEqual(['1']);

  expect(await rows()).toMatchObject([
    { id: '1', state: 'failed', reason: 'killed' },
    { id: '2', state: 'parked', attempts: 1, kills: 1 },
  ]);
  expect((await last.begin(innocent, { alone: true })).attempts).toBe(2);
});

test('connections ended by a restart of the server are no kill and use up no attempt', async () => {
  const keyId = await keys.park('k', '1');
  const cut = keys.process('1');
  await cut.begin(keyId);
  await keys.database.query(
    `update outbox.parked_key set begun_at = pg_postmaster_start_time() - interval '1 s'`,
  );
  await cut.die();

  expect((await keys.process('9').bury()).keys).toHaveLength(1);
  expect(await rows()).toMatchObject([{ state: 'parked', attempts: 1, kills: 0 }]);
});

test('until dead processes are looked for, a try counts, and the next try detects the kill', async () => {
  const keyId = await keys.park('k', '1');
  const doomed = keys.process('1');
  await doomed.begin(keyId);
  await doomed.die();
  await keys.makeDue(keyId);

  expect((await keys.answer(keyId)).kind).toBe('suspect');
  expect((await keys.begin(keyId, { alone: true })).attempts).toBe(2);
  expect(await rows()).toMatchObject([{ attempts: 2, kills: 1 }]);
});

test('a process that is frozen or hides its death uses up the tries of its message', async () => {
  const keyId = await keys.park('k', '1');
  const frozen = keys.process('1');
  for (const attempt of [2, 3, 4]) {
    expect((await frozen.begin(keyId)).attempts).toBe(attempt);
    await keys.makeDue(keyId);
  }
  expect(await keys.answer(keyId)).toEqual({ kind: 'gone', gaveUp: '1' });
});

test('a process whose connections are replaced stays alive by its looks', async () => {
  const keyId = await keys.park('k', '1');
  const [before, after, other] = [keys.process('1'), keys.process('1'), keys.process('2')];
  const begun = await before.begin(keyId);
  await after.bury();
  const holders = () =>
    keys.database.query(`select from pg_locks where locktype = 'advisory' and objid = 1 and mode = 'ShareLock'
       and database = (select oid from pg_database where datname = current_database())`);
  expect(await holders()).toHaveLength(2);

  await before.disconnect();
  await until(async () => (await holders()).length === 1);

  expect(await other.bury()).toEqual({ keys: [], gaveUp: [], others: true });
  const joined = keys.database.transaction((sql) => joinTry(sql, keys.group, keyId, [begun], '1'));
  expect(await joined).toBe(true);
});

test('a message that was failed by deaths and is retried by an operator has all of its tries again', {
  tags: ['killing-message-fails'],
}, async () => {
  const keyId = await keys.park('k', '1');
  const last = keys.process('9');
  const dieIn = async (worker: string) => {
    const doomed = keys.process(worker);
    await doomed.begin(keyId, { alone: true });
    await doomed.die();
    return (await last.bury({ blockKey: true })).gaveUp;
  };
  expect([await dieIn('1'), await dieIn('2'), await dieIn('3')]).toEqual([[], [], ['1']]);

  const retried = await keys.database.transaction((sql) => retryKept.apply(sql, keys.group, ['1'], {}));
  expect(retried).toMatchObject([{ result: 'retried' }]);

  expect([await dieIn('4'), await dieIn('5'), await dieIn('6')]).toEqual([[], [], ['1']]);
});

test.each(['4713', '-4713', '9007199254740993'])(
  'a live process is not dead to another one that gets its connection, as behind a pooler: %s',
  { tags: ['pooler-costs-speed-only'] },
  async (worker) => {
    const { database, group, rules } = keys;
    const keyId = await keys.park('k', '1');
    // One transaction is certainly on one connection.
    await database.transaction(async (sql) => {
      const begin = (by: string) => beginTry(sql, keyId, rules, { worker: by, most: 1, alone: false });
      expect(await begin(worker)).toMatchObject({ kind: 'try', message: { attempts: 2 } });

      expect(await endDeadTries(sql, group, '2', rules)).toEqual({ keys: [], gaveUp: [], others: true });
      await sql.query('update outbox.parked_key set next_at = outbox.clock()');
      expect(await begin('2'), 'overdue, not killed').toMatchObject({
        kind: 'try',
        message: { attempts: 3 },
      });
    });
    expect(await rows()).toMatchObject([{ state: 'parked', attempts: 3, kills: 0 }]);
  },
);

test('working on a key changes its messages and no others', async () => {
  const { database, group, rules, worker } = keys;
  const ids = ['1', '2'];
  const keyId = await keys.park('k', ...ids);
  await database.transaction((sql) => addBystanders(sql, group, ids, 'k'));
  const hand = { worker, most: 1, alone: false };
  const begin = async (sql: Sql): Promise<BegunTry> => {
    const begun = await beginTry(sql, keyId, rules, hand);
    if (begun.kind !== 'try') throw new Error(begun.kind);
    return begun.message;
  };
  const fails = (final: boolean, blockKey: boolean) => async (sql: Sql) =>
    failTry(
      sql,
      group,
      keyId,
      { message: await begin(sql), reason: 'error', error: 'no', final },
      { ...rules, blockKey },
    );
  const dies = (kills: number) => async (sql: Sql) => {
    await begin(sql);
    await sql.query('update outbox.parked_key set worker = 99 where id = $1', [keyId]);
    await sql.query(`update outbox.parked set kills = $2 where consumer_group = $1 and message_id = '1'`, [
      group,
      kills,
    ]);
    const dead = await endDeadTries(sql, group, worker, rules);
    return [dead.keys.map((key) => key.keyId), dead.gaveUp];
  };
  const steps: readonly (readonly [string, (sql: Sql) => Promise<unknown>, unknown])[] = [
    ['begins', begin, expect.objectContaining({ id: '1', attempts: 2, number: 1 })],
    [
      'ends',
      async (sql) => {
        const begun = await begin(sql);
        return [await joinTry(sql, group, keyId, [begun], worker), await endTry(sql, group, keyId, ['1'])];
      },
      [true, 'more'],
    ],
    ['fails', fails(false, false), { kind: 'wait', inMs: 10_000 }],
    ['fails for good', fails(true, false), { kind: 'more' }],
    ['fails and blocks its key', fails(true, true), { kind: 'blocked' }],
    ['gives back', async (sql) => returnTry(sql, group, keyId, await begin(sql), 0), true],
    ['dies', dies(0), [[keyId], []]],
    ['dies too often', dies(2), [[keyId], ['1']]],
    ['discards', async (sql) => (await discardKept.apply(sql, group, ['1'], {}))[0]?.result, 'discarded'],
    [
      'retries',
      async (sql) => {
        await sql.query('update outbox.parked_key set told_at = outbox.clock() where id = $1', [keyId]);
        return (await retryKept.apply(sql, group, ['1'], {}))[0]?.result;
      },
      'retried',
    ],
    ['tells', (sql) => markKeysTold(sql, [{ keyId, toldAt: null }]), undefined],
    ['notes a copy', (sql) => markCopied(sql, group, ids), undefined],
  ];
  for (const [name, step, answered] of steps) {
    const { answer, before, after } = await rehearsed(database, { group, ids, keyId }, step);
    expect(answer, name).toEqual(answered);
    expect(after.others, name).toEqual(before.others);
    expect(after.own, name).not.toEqual(before.own);
  }
});
