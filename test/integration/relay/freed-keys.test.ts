import { afterAll, beforeAll, expect, test } from 'vitest';
import { StandIns } from '../../../src/relay/stand-ins.ts';
import { Starter } from '../../../src/relay/starter.ts';
import { Supervision } from '../../../src/relay/supervision.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { claim } from '../../../src/store/lane/claim.ts';
import { acquireLane, freeLease } from '../../../src/store/lane/lease.ts';
import { wantedLanes } from '../../../src/store/lane/starts.ts';
import { confirmMessages } from '../../../src/store/message/confirm.ts';
import { sweep } from '../../../src/store/message/release.ts';
import { releaseBlocked, walkBlocked } from '../../../src/store/message/release-blocked.ts';
import { type LaneFixture, laneFixture } from '../../support/fixtures/lane-fixture.ts';
import { ada, type Operator, operatorAt } from '../../support/fixtures/operator.ts';
import { pagesOf, planNodes, statementOf } from '../../support/fixtures/query-plan.ts';
import { releaseMessage } from '../../support/fixtures/release-one.ts';
import { until } from '../../support/fixtures/until.ts';

// Twenty thousand keys, each with a message that blocks it and another one behind it.
const keysEach = 10_000;
/** Pages that a statement without work may touch: a few per index, however many keys are blocked. */
const fewPages = 100;
const walkedAtOnce = 500;
/** Of each key six rows are looked for, by a descent of some pages. */
const pagesOfAWalk = walkedAtOnce * 6 * 4;
const me = '00000000-0000-4000-8000-000000000001';

let fixture: LaneFixture;
let operator: Operator;
beforeAll(async () => {
  fixture = await laneFixture({ exhausted: 'block-key' });
  operator = operatorAt(fixture);
  await fixture.database.query(
    `update outbox.topic set confirm_group = 'shop', receipt_timeout_ms = '{60000}', confirm_max_sends = 1`,
  );
  await blockKeys('failed');
  await blockKeys('retrying');
  await fixture.database.query(
    `update outbox.lane set cursor = (select max(position) from outbox.message), snapshot = pg_current_snapshot()`,
  );
  await fixture.database.query('vacuum analyze outbox.message');
}, 180_000);
afterAll(async () => {
  await operator.close();
  await fixture.drop();
});

/** As settles leave them: the first message of each key has failed or is retrying, and another one is blocked behind it. */
async function blockKeys(state: 'failed' | 'retrying'): Promise<void> {
  await fixture.database.query(
    `insert into outbox.message (id, topic, lane, key, payload, state, workflow_id, due_at)
     select gen_random_uuid(), 'orders', 0, $2 || to_char(k, 'FM00000'), '{}', 'ready', 'w', now() + interval '1 hour'
     from generate_series(1, 2) n, generate_series(1, $1::integer) k order by n, k`,
    [keysEach, state],
  );
  await fixture.database.query(
    `update outbox.message m set state = case when m.position = h.position then $1::outbox.state else 'blocked' end
     from (select key, min(position) as position from outbox.message where key like $1 || '%' group by key) h where h.key = m.key`,
    [state],
  );
}

/** The messages of one key, in order. */
async function ofKey(key: string): Promise<{ readonly head: string; readonly follower: string }> {
  const [head, follower] = await fixture.database.query<{ id: string }>(
    'select id from outbox.message where key = $1 order by position',
    [key],
  );
  return { head: head?.id ?? '', follower: follower?.id ?? '' };
}

async function wanted(): Promise<number> {
  await fixture.database.query('update outbox.lane set started_at = null, wanted_since = null');
  return (await wantedLanes(fixture.database, ['orders'])).length;
}

async function pages(work: Parameters<typeof statementOf>[0]): Promise<number> {
  const { text, values } = await statementOf(work);
  return pagesOf(await planNodes(fixture.database, text, values));
}

async function due(id: string): Promise<void> {
  await fixture.database.query('update outbox.message set due_at = outbox.clock() where id = $1', [id]);
}

test('the search for lanes reads a few pages with 20,000 blocked keys', {
  tags: ['history-slows-nothing'],
}, async () => {
  expect(await pages((sql) => wantedLanes(sql, ['orders']))).toBeLessThan(fewPages);
  expect(await wanted()).toBe(0);
});

test('claiming a message of another key costs the same with 20,000 blocked keys', {
  tags: ['history-slows-nothing'],
}, async () => {
  await fixture.send('other', { key: 'other' });
  await acquireLane(fixture.database, fixture.lane, me);
  const { cursor, snapshot } = await fixture.laneRow();
  const request = {
    owner: me,
    cursor,
    snapshot,
    limit: 2_000,
    bytes: 1_000_000,
    failedBlocks: true,
    suspect: null,
  };

  expect(await pages((sql) => releaseBlocked(sql, fixture.lane, true))).toBeLessThan(fewPages);
  expect(await pages((sql) => claim(sql, fixture.lane, request))).toBeLessThan(fewPages);

  await freeLease(fixture.database, fixture.lane, me, true);
  let releases = 0;
  const counted: Database = {
    ...fixture.database,
    query: (text, values) => {
      if (text.includes('release_blocked')) releases += 1;
      return fixture.database.query(text, values);
    },
  };
  for (const label of ['more', 'and more']) await fixture.send(label, { key: label });
  await fixture.drain({ database: counted, batch: { messages: 1 } });
  expect(fixture.broker.labels).toEqual(['other', 'more', 'and more']);
  expect(releases).toBe(1);
});

const ways: readonly (readonly [
  way: string,
  'retrying' | 'failed',
  act: (id: string) => Promise<unknown>,
])[] = [
  ['a cancel', 'retrying', (id) => operator.cancel({ ids: [id] }, ada)],
  ['a withdrawal', 'retrying', (id) => operator.withdraw({ ids: [id] }, ada)],
  ['a retry', 'retrying', (id) => operator.retry({ ids: [id] }, ada)],
  ['a release', 'retrying', (id) => due(id).then(() => releaseMessage(fixture.database, id))],
  ['a sweep', 'retrying', (id) => due(id).then(() => sweep(fixture.database, ['orders'], 10))],
  ['a receipt', 'retrying', (id) => confirmMessages(fixture.database, 'shop', [id])],
  ['a retry', 'failed', (id) => operator.retry({ ids: [id] }, ada)],
  ['a discard', 'failed', (id) => operator.discard({ ids: [id] }, ada)],
  ['an edit', 'failed', (id) => operator.edit(id, { ...ada, payload: '{"edited":true}' })],
  ['a late receipt', 'failed', (id) => confirmMessages(fixture.database, 'shop', [id])],
];

test.each(
  ways.map(([way, state, act], n) => [way, state, `${state}${String(n + 1).padStart(5, '0')}`, act] as const),
)(
  '%s of a %s message lets its key continue at once with 20,000 blocked keys',
  { tags: ['unblocked-key-continues'] },
  async (_way, _state, key, act) => {
    const { head, follower } = await ofKey(key);

    await act(head);

    expect(await wanted()).toBe(1);
    await fixture.drain();
    expect(fixture.broker.log.map(({ id }) => id)).toContain(follower);
    expect(await wanted()).toBe(0);
  },
);

test('a drain that waits for a ring finds a key freed without one', async () => {
  const { head, follower } = await ofKey('failed05000');
  const abort = new AbortController();
  const { timings } = fixture.drainInput();
  const drained = fixture.drain({
    timings: { ...timings, laneIdleTimeoutMs: 600_000, checkIntervalMs: 50 },
    signal: abort.signal,
  });
  await until(async () => (await fixture.laneRow()).live);

  await operator.discard({ ids: [head] }, ada);

  await until(() => fixture.broker.log.some(({ id }) => id === follower));
  abort.abort();
  await drained;
});

test('a cancel that begins before its follower is blocked and commits after it frees the key', {
  tags: ['unblocked-key-continues'],
}, async () => {
  const judge = fixture.broker.judge;
  fixture.broker.judge = () => 'reject';
  await fixture.send('A1', { key: 'A' });
  await fixture.drain();
  fixture.broker.judge = judge;
  const canceling = await fixture.begin();
  await fixture.cancel('A1', canceling);
  await fixture.send('A2', { key: 'A' });
  await fixture.drain();
  expect(await fixture.states('A1', 'A2')).toEqual(['retrying', 'blocked']);

  await canceling.commit();

  expect(await wanted()).toBe(1);
  await fixture.drain();
  expect(await fixture.states('A1', 'A2')).toEqual(['canceled', 'published']);
});

/** What no trigger notes. */
async function discardUnnoted(id: string): Promise<void> {
  await fixture.database.query('alter table outbox.message disable trigger message_freed');
  await operator.discard({ ids: [id] }, ada);
  await fixture.database.query('alter table outbox.message enable trigger message_freed');
}

test('keys freed in any other way are found by turns, at the cost of some hundred keys each', {
  tags: ['unblocked-key-continues'],
}, async () => {
  const { head, follower } = await ofKey('failed09000');
  await discardUnnoted(head);
  expect(await wanted()).toBe(0);

  let at = await walkBlocked(fixture.database);
  expect(at).toMatchObject({ topic: 'orders', lane: 0 });
  expect(await pages((sql) => walkBlocked(sql, at))).toBeLessThan(pagesOfAWalk);
  let turns = 1;
  for (; at !== undefined; turns += 1) at = await walkBlocked(fixture.database, at);

  expect(turns).toBeLessThanOrEqual((2 * keysEach) / walkedAtOnce + 1);
  expect(await wanted()).toBe(1);
  await fixture.drain();
  expect(fixture.broker.log.map(({ id }) => id)).toContain(follower);
});

test('a starter checks the keys with blocked messages by turns', async () => {
  const { head, follower } = await ofKey('failed09001');
  await discardUnnoted(head);
  const report = () => undefined;
  const supervision = new Supervision(report);
  const drain = () => Promise.reject(new Error('There is nothing to drain.'));
  const standIns = new StandIns({ drain, ask: (start) => supervision.ask(start), left: report, report });
  const { database } = fixture;
  const starter = new Starter({ database, supervision, standIns, topics: ['orders'], report });

  for (let turn = 0; turn <= keysEach / walkedAtOnce; turn += 1) await starter.walkBlocked();

  expect(await wanted()).toBe(1);
  await fixture.drain();
  expect(fixture.broker.log.map(({ id }) => id)).toContain(follower);
  await starter.stop();
});

test('keys freed by a new policy of their topic are found by turns', async () => {
  await fixture.database.query(`update outbox.topic set exhausted = 'release-key'`);
  expect(await wanted()).toBe(0);

  await walkBlocked(fixture.database);

  expect(await wanted()).toBe(1);
  await fixture.database.query(`update outbox.topic set exhausted = 'block-key'`);
});
