import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Sql } from '../../../src/store/database/database.ts';
import {
  anyKey,
  type KeyCursor,
  markKeysTold,
  overdueKeys,
  untoldKeys,
} from '../../../src/store/inbox/parked-keys.ts';
import { createTestDatabase, type TestDatabase } from '../../support/fixtures/database.ts';
import {
  fullScansOf,
  pagesOf,
  planNodes,
  statementOf,
  stopAutovacuum,
} from '../../support/fixtures/query-plan.ts';

const parked = 100_000;
/** Pages of a statement that finds little: a few per index. */
const fewPages = 60;
/** Of one for 100 rows: each is found by its id, locked, and looked at. */
const pagesOfAPage = 100 * 20;
/** Of one that also writes each row, and its entry in each index. */
const pagesOfANote = 100 * 40;

let made: TestDatabase;
beforeAll(async () => {
  made = await createTestDatabase();
  await stopAutovacuum(made.database, ['parked_key']);
}, 120_000);
afterAll(() => made.drop());

/** Fills the table anew with keys of which each was told; the statistics are from before. */
async function fill(nextAt: string, toldAt: string): Promise<void> {
  await made.database.query('truncate outbox.parked_key');
  await made.database.query('analyze outbox.parked_key');
  await made.database.query(
    `insert into outbox.parked_key (consumer_group, topic, key, workflow_id, next_at, told_at)
     select case when g % 50 = 0 then 'other' else 'shop' end, 'orders', 'k' || g, 'w', ${nextAt}, ${toldAt}
     from generate_series(1, $1::integer) g`,
    [parked],
  );
}

const asleep = `now() + (60 + g % 240) * interval '1 second'`;
const due = `now() - (g % 240) * interval '1 second'`;

async function plan(work: (sql: Sql) => Promise<unknown>) {
  const { text, values } = await statementOf(work);
  return planNodes(made.database, text, values);
}

test.each([
  ['sleep', asleep],
  ['are due', due],
])('a look reads almost nothing while 100,000 keys %s', async (_, nextAt) => {
  await fill(nextAt, 'now()');
  for (const statistics of ['stale', 'fresh']) {
    if (statistics === 'fresh') await made.database.query('analyze outbox.parked_key');
    const untold = await plan((sql) => untoldKeys(sql, 'shop', 100));
    expect(fullScansOf(untold), statistics).toEqual([]);
    expect(pagesOf(untold), statistics).toBeLessThan(fewPages);
    const any = await plan((sql) => anyKey(sql, 'shop'));
    expect(pagesOf(any), statistics).toBeLessThan(fewPages);
    const overdue = await plan((sql) => overdueKeys(sql, 'shop', null, 100));
    expect(fullScansOf(overdue), statistics).toEqual([]);
    expect(pagesOf(overdue), statistics).toBeLessThan(nextAt === due ? pagesOfAPage : fewPages);
  }
});

test('each page of a walk through 100,000 overdue keys, and its update, reads little more than its rows', async () => {
  await fill(due, `now() - interval '10 seconds'`);
  let after: KeyCursor | null = null;
  for (const statistics of ['stale', 'fresh']) {
    if (statistics === 'fresh') await made.database.query('analyze outbox.parked_key');
    for (let page = 1; page <= 3; page += 1) {
      const place = after;
      const nodes = await plan((sql) => overdueKeys(sql, 'shop', place, 100));
      expect(pagesOf(nodes), `${statistics} ${page}`).toBeLessThan(pagesOfAPage);
      const { keys, next } = await overdueKeys(made.database, 'shop', after, 100);
      const note = await plan((sql) => markKeysTold(sql, keys));
      expect(fullScansOf(note), statistics).toEqual([]);
      expect(pagesOf(note), statistics).toBeLessThan(pagesOfANote);
      after = next;
    }
  }
});
