import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Sql } from '../../../src/store/database/database.ts';
import { claim } from '../../../src/store/lane/claim.ts';
import { acquireLane, renewLease } from '../../../src/store/lane/lease.ts';
import { settle } from '../../../src/store/lane/settle.ts';
import { type LaneFixture, laneFixture } from '../../support/fixtures/lane-fixture.ts';
import type { OpenTransaction } from '../../support/fixtures/open-transaction.ts';
import { pagesOf, planNodes, statementOf } from '../../support/fixtures/query-plan.ts';

/** What half a minute at 250 batches a second leaves. */
const versions = 8_000;
/** A few per index that a statement reads or writes. */
const fewPages = 30;

let fixture: LaneFixture;
let old: OpenTransaction;
const owner = randomUUID();
beforeEach(async () => {
  fixture = await laneFixture();
  await acquireLane(fixture.database, fixture.lane, owner);
  old = await fixture.begin();
  await old.query('set transaction isolation level repeatable read');
  await old.query('select from outbox.lane');
  await fixture.database.query(
    `do $$ begin for n in 1..${versions} loop update outbox.lane set cursor = cursor; commit; end loop; end $$`,
  );
});
afterEach(async () => {
  await old.rollback();
  await fixture.drop();
});

const claimed = (sql: Sql, lane = fixture.lane) =>
  claim(sql, lane, {
    owner,
    cursor: '0',
    snapshot: null,
    limit: 10,
    bytes: 1_000_000,
    failedBlocks: false,
    suspect: null,
  });
const settled = (sql: Sql, lane = fixture.lane) =>
  settle({ ...fixture.database, query: (text, values) => sql.query(text, values) }, lane, {
    owner,
    cursor: '0',
    snapshot: null,
    changes: [],
    claimSnapshot: '1:1:',
    durable: true,
  });
const renewed = (sql: Sql, lane = fixture.lane) => renewLease(sql, lane, owner);

/** Pages that a statement touches; all is taken back. */
async function pages(work: (sql: Sql) => Promise<unknown>): Promise<number> {
  const { text, values } = await statementOf(work);
  const tx = await fixture.begin();
  const touched = pagesOf(await planNodes(tx, text, values));
  await tx.rollback();
  return touched;
}

test.each([
  ['a claim', claimed],
  ['a settle', settled],
  ['a renewal', renewed],
])(
  'behind an old snapshot %s finds its lane without reading its earlier versions',
  { tags: ['history-slows-nothing'] },
  async (_, work) => {
    expect(await renewed(fixture.database)).toBe(true);

    expect(await pages(work)).toBeLessThan(fewPages);
    // Without the location of the row all of it is read.
    expect(await pages((sql) => work(sql, { ...fixture.lane }))).toBeGreaterThan(2 * fewPages);
  },
);

test('an owner finds its lane again after another process has written it', async () => {
  expect(await renewed(fixture.database)).toBe(true);
  await fixture.database.query('update outbox.lane set started_at = null');

  expect(await claimed(fixture.database)).toMatchObject({ owned: true });
  expect(await settled(fixture.database)).toBe(true);
  expect(await renewed(fixture.database)).toBe(true);
});

test('a former owner stays fenced although it remembers where the row was', async () => {
  expect(await renewed(fixture.database)).toBe(true);
  await fixture.lapse();
  const next = randomUUID();
  await acquireLane(fixture.database, { ...fixture.lane }, next);

  expect(await claimed(fixture.database)).toMatchObject({ owned: false });
  expect(await settled(fixture.database)).toBe(false);
  expect(await renewed(fixture.database)).toBe(false);
  expect(await fixture.laneRow()).toMatchObject({ owner: next });
});
