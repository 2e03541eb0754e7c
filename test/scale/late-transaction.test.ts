import process, { stderr } from 'node:process';
import { expect, test, vi } from 'vitest';
import type { Database, Sql } from '../../src/store/database/database.ts';
import { openDatabase } from '../../src/store/database/pool.ts';
import { type LaneFixture, laneFixture } from '../support/fixtures/lane-fixture.ts';
import { openTransaction } from '../support/fixtures/open-transaction.ts';
import { until } from '../support/fixtures/until.ts';

vi.setConfig({ testTimeout: 3_600_000 });

const rows = 2_000_000 * Number(process.env['SCALE'] ?? 0.1);
const maxTimes = 2;

/** Pages that were touched in this database by this connection, or by those that have ended. */
async function pagesTouched(sql: Sql): Promise<number> {
  const [row] = await sql.query<{ pages: number }>(
    `select (blks_hit + blks_read)::float8 as pages from pg_stat_database where datname = current_database()`,
  );
  return row?.pages ?? 0;
}

/** Connections that touch much go by this name, and tell what they have touched at their end. */
function apart({ url }: LaneFixture): string {
  const named = new URL(url);
  named.searchParams.set('application_name', 'apart');
  return named.href;
}

async function toldAll({ database }: LaneFixture): Promise<void> {
  await until(async () => {
    const open = await database.query(
      `select from pg_stat_activity where datname = current_database() and application_name = 'apart'`,
    );
    return open.length === 0;
  });
}

/** The pages that the work touches. */
async function pagesOf(
  fixture: LaneFixture,
  work: (database: Database) => Promise<unknown>,
): Promise<number> {
  const before = await pagesTouched(fixture.database);
  const database = openDatabase({ url: apart(fixture) });
  await work(database);
  await database.close();
  await toldAll(fixture);
  return (await pagesTouched(fixture.database)) - before;
}

/** A drain meets the rows of an open transaction: it touches them all, and tells that before others are measured. */
async function drainApart(fixture: LaneFixture): Promise<void> {
  const database = openDatabase({ url: apart(fixture) });
  await fixture.drain({ database });
  await database.close();
}

/** The pages that a drain of one transaction touches, beside another message of its lane that is passed before it commits, or alone. */
async function pagesOfDrain(late: boolean): Promise<number> {
  const fixture = await laneFixture();
  const transaction = await openTransaction(apart(fixture));
  await transaction.query(
    `insert into outbox.log_1 (id, topic, lane, key, payload)
     select gen_random_uuid(), 'orders', 0, 'k' || g % 1000, '"' || g || '"' from generate_series(1, $1::integer) g`,
    [rows],
  );
  await fixture.send('beside');
  if (late) await drainApart(fixture);
  await transaction.commit();
  await toldAll(fixture);
  await pagesOf(fixture, (database) => database.query('vacuum analyze outbox.log_1'));
  const pages = await pagesOf(fixture, async (database) => {
    while (fixture.broker.log.length <= rows) await fixture.drain({ database });
  });

  const sent = Array.from({ length: rows }, (_, n) => String(n + 1));
  expect(fixture.broker.labels).toEqual(late ? ['beside', ...sent] : [...sent, 'beside']);
  expect(await fixture.database.query('select from only outbox.message limit 1')).toEqual([]);
  await fixture.drop();
  return pages;
}

test('a large transaction costs little more beside other traffic than alone', {
  tags: ['history-slows-nothing'],
}, async () => {
  const alone = await pagesOfDrain(false);
  const beside = await pagesOfDrain(true);

  stderr.write(`a transaction of ${rows} messages: ${alone} pages; beside other traffic ${beside}\n`);
  expect(beside).toBeLessThan(alone * maxTimes);
});
