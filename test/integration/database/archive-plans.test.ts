import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Sql } from '../../../src/store/database/database.ts';
import { claim } from '../../../src/store/lane/claim.ts';
import { acquireLane, freeLease } from '../../../src/store/lane/lease.ts';
import { forgetTold } from '../../../src/store/lane/starts.ts';
import { storeMessages } from '../../../src/store/message/write.ts';
import {
  archiveFinished,
  archivePassed,
  firstFinished,
  readArchivableLanes,
} from '../../../src/store/retention/archive.ts';
import { deleteAttempts, deleteBatches } from '../../../src/store/retention/deletes.ts';
import { countTold, firstDue, readTold } from '../../../src/store/verify/reconcile.ts';
import { type ArchiveFixture, archiveFixture } from '../../support/fixtures/archive-fixture.ts';
import {
  fullScansOf,
  functionPlanNodes,
  indexesOf,
  type PlanNode,
  pagesOf,
  planNodes,
  statementOf,
  stopAutovacuum,
} from '../../support/fixtures/query-plan.ts';

const logRows = 100_000;
const historyRows = 100_000;
const waitingRows = 10_000;
const me = '00000000-0000-4000-8000-000000000001';
const limit = 100;
/**
 * Rows to read, to delete, and to write with three indexes: what a page of 100 touches, whatever lies around it. It is up
 * to 1,500; the table alone has twice as many.
 */
const pagesOfAPage = 2_500;

let at: ArchiveFixture;
let claimedEmpty: number;

beforeAll(async () => {
  at = await archiveFixture();
  const { database } = at.fixture;
  // It makes the partitions.
  await at.archive();
  await stopAutovacuum(database, ['message', 'message_history', 'batch', 'attempt']);
  await at.fixture.send('first');
  await at.fixture.drain();
  claimedEmpty = messagePages(await explainClaim());
  await database.query(makeId);
  await insertLog();
  await insertHistory();
  await database.query('checkpoint');
  await database.query('analyze outbox.message');
  await database.query('analyze outbox.message_history');
}, 300_000);
afterAll(() => at.fixture.drop());

/** Ids that grow, as those of the outbox do. */
const makeId = `create function outbox_id(n integer, kind text) returns uuid language sql immutable
  as $$ select (lpad(to_hex(ascii(kind)), 8, '0') || '-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid $$`;

/** Passed long ago, in few transactions and many batches, among waiting messages. */
async function insertLog(): Promise<void> {
  const { database } = at.fixture;
  for (const [state, count] of [
    ['ready', logRows],
    ['waiting', waitingRows],
  ] as const)
    await database.query(
      `insert into outbox.message (id, topic, lane, key, payload, state, workflow_id, due_at, workflow_due_at, created_at, updated_at)
       select id, 'orders', 0, case when g % 100 = 0 then 'k' || g % 1000 end, '{}', $1::outbox.state, outbox.message_workflow_id(id), due, due, now() - interval '2 days', now() - interval '2 days'
       from (select g, outbox_id(g, $1) as id, case when $1 = 'waiting' then now() + interval '1 hour' + g * interval '1 ms' end as due
         from generate_series(1, $2::integer) g) x`,
      [state, count],
    );
  // A claim descends into its indexes for each transaction in progress, of other databases, too. Nobody settles here.
  await database.query(
    `update outbox.lane set cursor = (select max(position) from outbox.message),
       snapshot = format('%1$s:%1$s:', pg_snapshot_xmax(pg_current_snapshot()))::pg_snapshot`,
  );
  await database.query(
    `insert into outbox.batch (id, topic, lane, first_position, last_position, count, published_at, partitions)
     select gen_random_uuid(), 'orders', 0, p - 99, p, 100, now() - interval '2 days', '{"0":{"first":"1","count":100}}'
     from outbox.lane, generate_series(100, cursor, 100) p`,
  );
  await database.query('analyze outbox.batch');
}

/** In a month of its own, whose indexes are built when it is attached, because that is quicker. */
async function insertHistory(): Promise<void> {
  await at.fixture.database.query(
    'create table outbox.message_history_2020_01 (like outbox.message_history) with (autovacuum_enabled = off)',
  );
  await at.fixture.database.query(
    `insert into outbox.message_history_2020_01 (id, topic, lane, position, ref, payload, content_type, state, workflow_id, attempts,
       sends, maybe_published, created_at, updated_at, archived_at)
     select outbox_id(g, 'archived'), 'orders', 0, g, 'r' || g, '{}', 'application/json', 'published', 'w', 0, 1, false,
       '2020-01-01', '2020-01-01', '2020-01-02'
     from generate_series(1, $1::integer) g`,
    [historyRows],
  );
  await at.fixture.database.query(
    `alter table outbox.message_history attach partition outbox.message_history_2020_01
       for values from ('2020-01-01 00:00+00') to ('2020-02-01 00:00+00')`,
  );
}

async function explainClaim(): Promise<readonly PlanNode[]> {
  const { fixture } = at;
  await acquireLane(fixture.database, fixture.lane, me);
  const { cursor, snapshot } = await fixture.laneRow();
  const { values } = await statementOf((sql) =>
    claim(sql, fixture.lane, {
      owner: me,
      cursor,
      snapshot,
      limit: 2_000,
      bytes: 16_777_216,
      failedBlocks: false,
      suspect: null,
    }),
  );
  const nodes = await functionPlanNodes(fixture.database, 'claim', values);
  await freeLease(fixture.database, fixture.lane, me, true);
  return nodes;
}

/** Pages that the scans of the table of messages touched; reading the catalogs for the first time is not counted. */
function messagePages(nodes: readonly PlanNode[]): number {
  const scans = nodes.filter((node) => node['Relation Name'] === 'message');
  return scans.reduce((sum, node) => sum + pagesOf([node]), 0);
}

/** Really runs the statement, and takes it back. */
async function explain(work: (sql: Sql) => Promise<unknown>): Promise<readonly PlanNode[]> {
  const { text, values } = await statementOf(work);
  const taken: (readonly PlanNode[])[] = [];
  await at.fixture.database
    .transaction(async (sql) => {
      taken.push(await planNodes(sql, text, values));
      throw new Error('taken back');
    })
    .catch((error: unknown) => {
      if (taken.length === 0) throw error;
    });
  return taken.flat();
}

test('a claim touches as many pages behind 100,000 passed and 100,000 archived messages as behind none', {
  tags: ['archive-blocks-nothing'],
}, async () => {
  const nodes = await explainClaim();

  expect(fullScansOf(nodes)).not.toContain('message');
  expect(messagePages(nodes)).toBeLessThan(claimedEmpty + 20);
});

test('a page of passed messages touches only the messages that it moves', async () => {
  const [lane] = await readArchivableLanes(at.fixture.database, 60_000, 60_000);
  if (lane === undefined) throw new Error('There is a lane.');
  for (const after of ['0', '50000']) {
    const nodes = await explain((sql) => archivePassed(sql, lane, { after, ageMs: 60_000, limit }));
    expect(fullScansOf(nodes)).not.toContain('message');
    expect(fullScansOf(nodes)).not.toContain('batch');
    expect(indexesOf(nodes)).toContain('message_lane_position');
    expect(pagesOf(nodes)).toBeLessThan(pagesOfAPage);
  }
});

test('a page of finished messages is found by its index, whatever the number of others', async () => {
  await at.fixture.database.query(
    `update outbox.message set state = 'canceled', updated_at = now() - interval '1 day'
     where id in (select id from outbox.message where state = 'waiting' limit 1000)`,
  );
  const nodes = await explain((sql) =>
    archiveFinished(sql, 'canceled', { after: firstFinished, ageMs: 60_000, limit, tellingOf: [] }),
  );

  expect(fullScansOf(nodes)).not.toContain('message');
  expect(indexesOf(nodes)).toContain('message_finished');
  expect(pagesOf(nodes)).toBeLessThan(pagesOfAPage);
});

test('deleting batches and attempts, and carrying ids over, never reads all messages', async () => {
  const { fixture } = at;
  await fixture.database.query(
    `insert into outbox.attempt (message_id, at, outcome) select gen_random_uuid(), now() - interval '1 day', 'rejected' from generate_series(1, 1000);
     select outbox.mark_processed('g', array(select outbox_id(g, 'ready')::text from generate_series(1, 1000) g), null);
     select outbox.roll_processed(0, 300, 0)`,
  );
  const page = { after: null, ageMs: 60_000, limit };
  for (const work of [
    (sql: Sql) => deleteBatches(sql, fixture.lane, page),
    (sql: Sql) => deleteAttempts(sql, page),
    (sql: Sql) => sql.query('select * from outbox.carry_live($1::bigint, $2::integer)', ['1', limit]),
  ]) {
    const nodes = await explain(work);
    expect(fullScansOf(nodes)).not.toContain('message');
    expect(pagesOf(nodes)).toBeLessThan(pagesOfAPage);
  }
});

test('archiving messages with workflows, and forgetting some, costs the same among ten thousand of them', async () => {
  const nodes = await explain((sql) => readTold(sql, { dueAt: '2020-01-01', id: randomUUID() }, limit));
  expect(fullScansOf(nodes)).not.toContain('message');
  expect(pagesOf(nodes)).toBeLessThan(limit + 60);

  const ids = (await readTold(at.fixture.database, firstDue, limit)).map(({ id }) => id);
  const forgetting = await explain((sql) => forgetTold(sql, ids));
  expect(fullScansOf(forgetting)).not.toContain('message');
  expect(pagesOf(forgetting)).toBeLessThan(pagesOfAPage);
  expect(await countTold(at.fixture.database)).toBeGreaterThan(waitingRows - 1_001);
});

test('ids of callers and refs are looked up in the history by index', async () => {
  const messages = Array.from({ length: 500 }, () => ({ id: randomUUID(), payload: '{}' }));
  const { id, rows } = await at.fixture.database.transaction(async (sql) => {
    const before = await historyRowsRead(sql);
    await storeMessages(sql, 'orders', messages);
    const [found] = await sql.query<{ id: string | null }>(
      `select outbox.message_of_ref('orders', 'r77777') as id`,
    );
    return { id: found?.id, rows: (await historyRowsRead(sql)) - before };
  });

  expect(id).toMatch(/^[0-9a-f-]{36}$/);
  expect(rows).toBeGreaterThan(0);
  expect(rows).toBeLessThan(100);
});

/** By this connection; what an earlier transaction read counts as well until PostgreSQL has reported it, up to a second later. */
async function historyRowsRead(sql: Sql): Promise<number> {
  const [read] = await sql.query<{ rows: number }>(
    `select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::float8 as rows
     from pg_stat_xact_user_tables where schemaname = 'outbox' and relname like 'message_history%'`,
  );
  return read?.rows ?? Number.NaN;
}
