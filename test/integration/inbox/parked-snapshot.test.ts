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

test('a message of a key that is not parked costs as little behind all that were parked and drained since an old snapshot began', async () => {
  const pages = async (call: string, values: readonly unknown[]): Promise<number> =>
    pagesOf(await planNodes(made.database, call, values));
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
