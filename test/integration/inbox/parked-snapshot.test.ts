import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Arrival, noteArrivals } from '../../../src/store/inbox/receive.ts';
import { createTestDatabase, type TestDatabase } from '../../support/fixtures/database.ts';
import { type OpenTransaction, openTransaction } from '../../support/fixtures/open-transaction.ts';
import { pagesOf, planNodes } from '../../support/fixtures/query-plan.ts';

const group = 'billing';
const drained = 10_000;
/** Far fewer than the rows of drained keys, whose versions an old snapshot keeps. */
const most = 100;

let made: TestDatabase;
let report: OpenTransaction;

beforeAll(async () => {
  made = await createTestDatabase();
  report = await openTransaction(made.url);
  await report.query('set transaction isolation level repeatable read');
  await report.query('select pg_current_xact_id()');
  await made.database.query(
    `insert into outbox.parked_key (consumer_group, topic, key, workflow_id, next_at)
     select $1, 'orders', 'k' || n, 'w' || n, now() from generate_series(1, $2::integer) n`,
    [group, drained],
  );
  await made.database.query('delete from outbox.parked_key');
});
afterAll(async () => {
  await report.rollback();
  await made.drop();
});

async function pages(call: string, values: readonly unknown[]): Promise<number> {
  return pagesOf(await planNodes(made.database, call, values));
}

test('a message of a key that is not parked costs as little behind all that were parked and drained since an old snapshot began', {
  tags: ['one-bad-slows-no-other'],
}, async () => {
  const alone = 'select outbox.receive_one($1, $2, $3, 30000, null, $4)';
  expect(await pages(alone, [group, randomUUID(), 'orders', 'free'])).toBeLessThan(most);
  expect(await pages(alone, [group, randomUUID(), 'orders', null])).toBeLessThan(most);
  const few = `select outbox.receive($1, array[$2], array[$3], array[$4], 30000, null)`;
  expect(await pages(few, [group, randomUUID(), 'orders', 'free'])).toBeLessThan(most);
});

test('a message of a parked key queues, and one of another key does not, whether it comes alone or with others', async () => {
  const arrive = (...keys: readonly (string | null)[]): Promise<readonly Arrival[]> =>
    made.database.transaction((sql) =>
      noteArrivals(
        sql,
        group,
        keys.map((key) => ({ id: randomUUID(), topic: 'orders', key })),
      ),
    );
  await made.database.query(
    `insert into outbox.parked_key (consumer_group, topic, key, workflow_id, next_at) values ($1, 'orders', 'parked', 'w', now())`,
    [group],
  );

  expect(await arrive('parked')).toEqual(['behind']);
  expect(await arrive('free')).toEqual(['new']);
  expect(await arrive(null)).toEqual(['new']);
  expect(await arrive('free', 'parked', null)).toEqual(['new', 'behind', 'new']);
});

test('one of many keys is found by itself, although the statistics are from before they were parked', {
  tags: ['one-bad-slows-no-other'],
}, async () => {
  await made.database.query('analyze outbox.parked_key');
  await made.database.query(
    `insert into outbox.parked_key (consumer_group, topic, key, workflow_id, next_at)
     select $1, 'refunds', 'k' || n, 'w' || n, now() from generate_series(1, $2::integer) n`,
    [group, drained],
  );
  const message = {
    id: randomUUID(),
    topic: 'refunds',
    key: 'k77',
    state: 'parked',
    address: 'a',
    partition: 0,
    offset: '0',
    wire: '{}',
    body: '',
    sentAt: '2026-01-01T00:00:00Z',
    attempts: 1,
  };
  expect(
    await pages('select outbox.park($1, $2::jsonb, 1000)', [group, JSON.stringify([message])]),
  ).toBeLessThan(most);
  expect(await pages('select outbox.count_queue($1, $2, $3, 10)', [group, 'refunds', 'k77'])).toBeLessThan(
    most,
  );
  const kept = `select outbox.bring_back_key(p) from jsonb_populate_record(null::outbox.parked, $1::jsonb) p`;
  const values = { consumer_group: group, topic: 'refunds', key: 'k77' };
  expect(await pages(kept, [JSON.stringify(values)])).toBeLessThan(most);
});
