import { beforeEach, expect, test } from 'vitest';
import type { MessageFilter } from '../../../src/operations.ts';
import { archiveOf } from '../../support/fixtures/archive-fixture.ts';
import { type LaneFixture, ownLane } from '../../support/fixtures/lane-fixture.ts';
import { ada, failAll, type Operator, operatorAt, ownOperator } from '../../support/fixtures/operator.ts';
import { until } from '../../support/fixtures/until.ts';
import { labelOf } from '../../support/kafka/scripted-broker.ts';

let fixture: LaneFixture;
let operator: Operator;
beforeEach(async () => {
  fixture = await ownLane();
  operator = ownOperator(fixture);
});

/** Ids of all pages, which hold `limit` messages each. */
async function pages(filter: MessageFilter, limit: number): Promise<readonly (readonly string[])[]> {
  const found: (readonly string[])[] = [];
  let after: string | undefined;
  do {
    const page = await operator.list(filter, { limit, ...(after !== undefined && { after }) });
    found.push(page.messages.map(({ id }) => id));
    after = page.next ?? undefined;
  } while (after !== undefined && found.length < 100);
  return found;
}

/** Messages in every state that the fixture can make. */
async function sendAll(): Promise<void> {
  fixture.broker.judge = (message) => (labelOf(message) === 'retrying' ? 'reject' : 'store');
  await failAll(fixture, ['failed']);
  await fixture.send('published', { ref: 'old' });
  await fixture.send('retrying', { key: 'K' });
  await fixture.send('blocked', { key: 'K' });
  await fixture.drain();
  await fixture.send('canceled', { afterMs: 7_200_000 });
  await fixture.cancel('canceled');
  await fixture.send('waiting', { afterMs: 7_200_000, ref: 'r' });
  await fixture.send('ready');
}

const inOrder = ['ready', 'waiting', 'canceled', 'blocked', 'retrying', 'published', 'failed'];

test.each([1, 2, 3])(
  'pages of %i go on where a message that was edited three times shares its position',
  { tags: ['pages-show-each-once'] },
  async (limit) => {
    await fixture.send('older', { afterMs: 7_200_000 });
    fixture.broker.judge = () => 'permanent';
    await fixture.send('A');
    await fixture.drain();
    const edited = [fixture.idOf('A')];
    for (let n = 1; n <= 3; n += 1) {
      const { id } = await operator.edit(edited.at(-1) ?? '', { ...ada, payload: `A ${n}` });
      edited.push(id);
      await fixture.drain();
    }
    await fixture.send('newer', { afterMs: 7_200_000 });

    for (const filter of [{}, { states: ['superseded', 'waiting'] }, { error: 'refused' }] as const) {
      const all = (await operator.list(filter, { limit: 200 })).messages.map(({ id }) => id);
      expect((await pages(filter, limit)).flat()).toEqual(all);
    }
    const shown = (await pages({}, limit)).flat();
    expect(shown.toSorted()).toEqual([...edited, fixture.idOf('older'), fixture.idOf('newer')].toSorted());
  },
);

const filters: readonly (readonly [what: string, MessageFilter, readonly string[]])[] = [
  ['nothing', {}, inOrder],
  ['states', { states: ['failed', 'ready'] }, ['ready', 'failed']],
  ['the state published, which no row of the table has', { states: ['published'] }, ['published']],
  ['the state ready, which published rows have', { states: ['ready'] }, ['ready']],
  ['key', { key: 'K' }, ['blocked', 'retrying']],
  ['part of an error', { error: 'REFUSED by' }, ['failed']],
  ['topic and state', { topic: 'orders', states: ['waiting'] }, ['waiting']],
  ['another topic', { topic: 'others' }, []],
  ['ref', { topic: 'orders', ref: 'r' }, ['waiting']],
  ['ref without topic', { ref: 'old' }, ['published']],
  ['due time', { dueFrom: new Date(Date.now() + 1_800_000) }, ['waiting', 'canceled']],
  ['a future time', { createdFrom: new Date('2999-01-01') }, []],
  ['a past time', { createdTo: new Date('2000-01-01T00:00:00Z') }, []],
];

test('a filter finds exactly its messages with their visible states, newest first, and one that is none is refused', async () => {
  await sendAll();
  const states = (await operator.list()).messages.map(({ state }) => state);
  expect(states).toEqual(inOrder);
  for (const [what, filter, labels] of filters) {
    const found = (await pages(filter, 50)).flat();
    expect([what, ...found]).toEqual([what, ...labels.map((label) => fixture.idOf(label))]);
  }

  for (const [filter, page] of [
    [{}, { limit: 0 }],
    [{}, { limit: 201 }],
    [{}, { after: 'x' }],
    [{ states: [] }, {}],
    [{ dueTo: new Date('tomorrow') }, {}],
    [{ key: '' }, {}],
  ] as const)
    await expect(operator.list(filter, page)).rejects.toMatchObject({ code: 'OUTBOX_OPTION_INVALID' });
});

/** Published messages as they are after a long healthy time; every 12,000th has the key "rare". */
async function publishMany(count: number): Promise<void> {
  await fixture.database.query(
    `insert into outbox.message (id, topic, lane, key, payload, state, workflow_id)
     select gen_random_uuid(), 'orders', 0, case when n % 12000 = 0 then 'rare' end, '1', 'ready', 'w' from generate_series(1, $1) n`,
    [count],
  );
  await fixture.database.query(
    `update outbox.lane set cursor = (select max(position) from outbox.message), snapshot = pg_current_snapshot()`,
  );
  await fixture.database.query('analyze outbox.message');
}

test('a search through many messages reads a bounded number of rows per page and finds all in order', async () => {
  await failAll(fixture, ['oldest'], 'rare');
  await publishMany(50_000);

  const found = await pages({ key: 'rare' }, 50);

  expect(found.flat()).toHaveLength(5);
  expect(new Set(found.flat()).size, 'no repeats').toBe(5);
  expect(found.flat().at(-1), 'what is found at once, but lies deeper, has to wait').toBe(
    fixture.idOf('oldest'),
  );
  expect(found.length, 'pages of at most 10,000 rows of either kind').toBe(6);
});

test('no list, show or change of messages scans the whole table', async () => {
  await publishMany(50_000);
  await sendAll();
  const scans = async (): Promise<number> => {
    const [row] = await fixture.database.query<{ scans: number }>(
      `select seq_scan::integer as scans from pg_stat_user_tables where relid = 'outbox.message'::regclass`,
    );
    return row?.scans ?? 0;
  };
  // Sessions report what they counted when they end, at the latest: those of the preparations end here, that of the
  // operator at the close.
  const end = async (): Promise<void> => {
    const others = `from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`;
    await fixture.database.query(
      `select pg_terminate_backend(pid) ${others} and backend_type = 'client backend'`,
    );
    await until(async () => {
      if ((await fixture.database.query(`select ${others}`)).length > 0) return false;
      await fixture.database.query('select pg_stat_force_next_flush()');
      return true;
    });
  };
  await end();
  const counted = operatorAt(fixture);
  const before = await scans();
  for (const label of inOrder) await counted.show(fixture.idOf(label));
  for (const states of [undefined, ['failed'], ['ready'], ['published']] as const) {
    const filter: MessageFilter = states === undefined ? {} : { states };
    await counted.list(filter);
    await counted.list({ ...filter, topic: 'orders', key: 'rare' });
  }
  await counted.list({ topic: 'orders', ref: 'r' });
  await counted.cancel(counted.of('published', 'waiting'), ada);
  await counted.retry(counted.of('published', 'failed'), ada);
  await counted.withdraw(counted.of('published', 'ready', 'blocked'), ada);
  await counted.discard(counted.of('published'), ada);
  await counted.close();
  await end();

  expect((await scans()) - before).toBe(0);
});

test('an archived message is found by its id and its ref', async () => {
  await fixture.send('A', { ref: 'r' });
  await fixture.drain();
  const history = archiveOf(fixture);
  await history.age('10 days');
  expect(await history.archive()).toMatchObject({ archived: 1 });

  const byId = await operator.list({ id: fixture.idOf('A') });
  expect(byId).toMatchObject({ messages: [{ id: fixture.idOf('A'), state: 'published' }], next: null });
  expect(byId.messages[0]?.archivedAt).toBeInstanceOf(Date);
  expect((await operator.list({ topic: 'orders', ref: 'r' })).messages).toHaveLength(1);
  expect((await operator.list()).messages).toEqual([]);
  expect(await operator.show(fixture.idOf('A'))).toMatchObject({ why: { code: 'archived' } });
  expect(await operator.cancel(operator.of('A'), ada)).toMatchObject([
    { result: 'too-late', state: 'published' },
  ]);
});

test('show has what happened to a message and why it waits', async () => {
  await sendAll();
  await operator.cancel(operator.of('retrying', 'published'), { actor: 'bob' });

  const [failed, blocked, waiting, ready] = await Promise.all(
    ['failed', 'blocked', 'waiting', 'ready'].map((label) => operator.show(fixture.idOf(label))),
  );
  expect(failed).toMatchObject({
    message: {
      topic: 'orders',
      lane: 0,
      attempts: 1,
      payload: '"failed"',
      lastError: 'refused by the script',
    },
    why: { code: 'failed' },
    attempts: [{ outcome: 'permanent', error: 'refused by the script' }],
    delivery: null,
  });
  expect(blocked).toMatchObject({ why: { code: 'no-relay' } });
  expect(waiting).toMatchObject({ why: { code: 'due-later' }, message: { ref: 'r' } });
  expect(ready).toMatchObject({ why: { code: 'no-relay' } });
  expect(await operator.show(fixture.idOf('published'))).toMatchObject({
    audit: [{ actor: 'bob', action: 'cancel', result: 'too-late' }],
  });
  expect(await operator.show('00000000-0000-4000-8000-000000000000')).toBeUndefined();
});

test('show counts the messages that go before a queued one', async () => {
  for (const label of ['A', 'B', 'C']) await fixture.send(label);
  await fixture.database.query(
    `update outbox.lane set owner = gen_random_uuid(), alive_until = clock_timestamp() + interval '10 seconds', incarnation = outbox.incarnation()`,
  );

  expect((await operator.show(fixture.idOf('C')))?.why).toEqual({
    code: 'queued',
    text: '2 messages of its lane go first.',
  });
  expect((await operator.show(fixture.idOf('A')))?.why.code).toBe('next');
});

test('a passed message has the offset of the broker', async () => {
  fixture.broker.judge = (message) => (labelOf(message) === 'refused' ? 'permanent' : 'store');
  for (const label of ['A', 'B', 'refused', 'C', 'D']) await fixture.send(label);
  await fixture.drain();

  for (const { id, offset } of fixture.broker.log) {
    const { message, delivery } = (await operator.show(id)) ?? {};
    expect(message?.offset, 'nothing is stored in its row').toBeNull();
    expect(delivery?.exact).toEqual({ partition: 0, offset });
  }
  expect((await operator.show(fixture.idOf('refused')))?.delivery).toBeNull();
});

test('where the position of a passed message within its batch is uncertain, only the batch is shown', async () => {
  const late = await fixture.begin();
  await fixture.send('first');
  await fixture.send('late', {}, late);
  await fixture.send('last');
  await fixture.drain();
  await late.commit();
  await fixture.drain();
  expect(fixture.broker.labels).toEqual(['first', 'last', 'late']);

  const { delivery } = (await operator.show(fixture.idOf('last'))) ?? {};

  expect(delivery).toMatchObject({ exact: null, partitions: { 0: { first: '0', count: 2 } } });
});
