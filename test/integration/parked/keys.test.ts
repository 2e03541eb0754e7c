import { expect, test } from 'vitest';
import type { Sql } from '../../../src/store/database/database.ts';
import {
  type KeyCursor,
  markKeysTold,
  overdueKeys,
  untoldKeys,
} from '../../../src/store/inbox/parked-keys.ts';
import { openKeyRows } from '../../support/fixtures/key-rows.ts';
import { stopClock } from '../../support/fixtures/stop-clock.ts';

const wantedOf = async (sql: Sql) => (await overdueKeys(sql, 'shop', null, 100)).keys;

test('an overdue key that was not started lately is started again, and replaced once a minute', async (context) => {
  const keys = await openKeyRows(context);
  const { database } = keys;
  await stopClock(database);
  const overdue = async (dueInMs: number, toldAgoMs: number) => {
    const [id] = await keys.park(1, dueInMs, toldAgoMs);
    const found = (await wantedOf(database)).find(({ keyId }) => keyId === id);
    await database.query('delete from outbox.parked_key');
    return found?.replace;
  };

  expect(await overdue(1_000, 90_000)).toBeUndefined();
  expect(await overdue(-4_000, 90_000)).toBeUndefined();
  expect(await overdue(-6_000, 4_000)).toBeUndefined();
  expect(await overdue(-6_000, 90_000)).toBe('never');
  expect(await overdue(-6_000, 6_000)).toBe('never');
  expect(await overdue(-61_000, 90_000)).toBe('if-idle');
  expect(await overdue(-61_000, 6_000)).toBe('if-idle');
  expect(await overdue(-70_000, 9_000)).toBe('never');
  expect(await overdue(-119_000, 50_000)).toBe('never');
  expect(await overdue(-121_000, 50_000)).toBe('if-idle');
});

test('a try moved by an operator replaces the workflow at once, also if a start is in progress', async (context) => {
  const keys = await openKeyRows(context);
  const { database } = keys;
  await keys.park(1, 3_600_000);
  const seen = await untoldKeys(database, 'shop', 1);
  await database.query(`update outbox.parked_key set next_at = outbox.clock(), told_at = '-infinity'`);
  await markKeysTold(database, seen);

  const [wanted] = await wantedOf(database);
  expect(wanted).toMatchObject({ keyId: seen[0]?.keyId, replace: 'always', dueInMs: 0 });
  await markKeysTold(database, wanted === undefined ? [] : [wanted]);
  expect(await wantedOf(database)).toEqual([]);
});

test('a key being worked on is neither replaced nor waited for', async (context) => {
  const keys = await openKeyRows(context);
  const { database } = keys;
  const [id] = await keys.park(1, -90_000, 90_000);
  const [before] = await wantedOf(database);
  expect(before).toMatchObject({ keyId: id, replace: 'if-idle' });

  await database.transaction(async (sql) => {
    await sql.query('select from outbox.parked_key where id = $1 for no key update', [id]);
    expect(await wantedOf(database)).toEqual([]);
    await markKeysTold(database, before === undefined ? [] : [before]);
  });
  expect(await wantedOf(database)).toMatchObject([{ keyId: id }]);
});

test('a walk in pages reaches every overdue key, whatever is between them', async (context) => {
  const keys = await openKeyRows(context);
  const { database } = keys;
  await stopClock(database);
  const lost = await keys.park(7, -10_000, 10_000);
  await keys.park(15, -10_000, 100);
  await keys.park(8, -20_000);
  const found: string[] = [];
  let pages = 0;
  let cursor: KeyCursor | null = null;
  do {
    const page = await overdueKeys(database, 'shop', cursor, 4);
    found.push(...page.keys.map(({ keyId }) => keyId));
    cursor = page.next;
    pages += 1;
  } while (cursor !== null && pages < 100);

  expect(found.toSorted()).toEqual([...lost].toSorted());
  expect(pages).toBe(8);
});
