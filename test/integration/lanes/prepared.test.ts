// @module-tag apart
import { expect, type TestContext, test } from 'vitest';
import { z } from 'zod';
import { policyOf } from '../../../src/app/relay/topic-policy.ts';
import { topic } from '../../../src/core/topic.ts';
import { changeLanes } from '../../../src/operations/delivery/lanes.ts';
import type { Database, Sql } from '../../../src/store/database/database.ts';
import { openDatabase } from '../../../src/store/database/pool.ts';
import { upsertTopics } from '../../../src/store/lane/topics.ts';
import { LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import { leavesOf, turnLeaf } from '../../support/fixtures/leaves.ts';
import { openTransaction } from '../../support/fixtures/open-transaction.ts';
import { ownPostgres } from '../../support/fixtures/own-postgres.ts';
import { until } from '../../support/fixtures/until.ts';

/** A lane on a server of its own that can prepare transactions. */
async function preparingFixture(
  context: TestContext,
): Promise<{ readonly fixture: LaneFixture; readonly url: string }> {
  const { url } = await ownPostgres(context, ['max_prepared_transactions=4']);
  const database = openDatabase({ url });
  context.onTestFinished(() => database.close());
  const orders = topic('orders', z.unknown());
  await upsertTopics(database, [policyOf(orders, 'scripted')]);
  return { fixture: new LaneFixture({ url, database, drop: () => database.close() }, orders.rules), url };
}

test('a change of lanes waits for a transaction prepared during it until its second phase', {
  tags: ['order-per-key'],
}, async (context) => {
  const { fixture, url } = await preparingFixture(context);
  const { database } = fixture;
  const [row] = await database.query<{ key: string }>(
    `select 'k' || n as key from generate_series(1, 100) n where outbox.lane_of('k' || n, null, 2) = 1 limit 1`,
  );
  const key = row?.key ?? '';
  const coordinator = await openTransaction(url);
  await fixture.send('K1', { key }, coordinator);

  const waiting = new AbortController();
  const answer = changeLanes(database, 'orders', 2, { actor: 'test', signal: waiting.signal });
  // The change has seen the transaction as one that runs.
  await until(async () => {
    const steps = await database.query<{ step: string }>('select step from outbox.topic_change');
    return steps[0]?.step === 'switched';
  });
  await fixture.send('K2', { key });
  await coordinator.query(`prepare transaction 'of the coordinator'`);
  let ended = false;
  void answer.then(() => (ended = true));
  for (let looks = 0; looks < 10; looks += 1) await database.query('select pg_sleep(0.05)');
  expect(ended).toBe(false);
  waiting.abort();
  expect(await answer).toEqual({
    done: false,
    waitingFor: 'transactions',
    who: ['prepared transaction of the coordinator'],
  });

  const again = changeLanes(database, 'orders', 2, { actor: 'test' });
  await coordinator.query(`commit prepared 'of the coordinator'`);
  expect(await again).toEqual({ done: true, moved: 1 });
  await coordinator.rollback();
  for (const lane of [1, 0]) await fixture.drain({ lane: { topic: 'orders', lane } });
  expect(fixture.broker.labels).toEqual(['K1', 'K2']);
});

test('a leaf of the log stays for a prepared transaction that is committed while the leaf is about to be passed', {
  tags: ['archive-blocks-nothing'],
}, async (context) => {
  const { fixture, url } = await preparingFixture(context);
  const { database } = fixture;
  const coordinator = await openTransaction(url);
  await fixture.send('prepared', {}, coordinator);
  await fixture.send('other');
  await fixture.drain();
  await turnLeaf(database);
  await coordinator.query(`prepare transaction 'of the coordinator'`);
  await coordinator.rollback();
  // It has asked the lanes, and asks who holds the leaf: nobody any more. Its second transaction, which follows, has the lock.
  let transactions = 0;
  const racing = Object.assign(Object.create(database) as Database, {
    query: async <Row extends object>(...asked: Parameters<Database['query']>): Promise<readonly Row[]> => {
      if (asked[0].includes('from pg_locks k')) await database.query(`commit prepared 'of the coordinator'`);
      return database.query<Row>(...asked);
    },
    transaction: async <Result>(work: (sql: Sql) => Promise<Result>): Promise<Result> => {
      transactions += 1;
      return database.transaction(work);
    },
  });
  const firstLeaf = async (): Promise<string | undefined> => (await leavesOf(database))[0];

  await turnLeaf(racing);
  expect(transactions).toBe(2);
  expect(await firstLeaf()).toBe('log_1 log');
  await fixture.drain();
  expect(fixture.broker.labels).toEqual(['other', 'prepared']);
  await turnLeaf(database);
  expect(await firstLeaf()).toBe('log_1 log_passed');
});
