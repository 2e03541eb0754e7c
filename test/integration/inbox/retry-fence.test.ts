import { expect, onTestFinished, test } from 'vitest';
import { noteArrivals } from '../../../src/store/inbox/receive.ts';
import { testGate } from '../../support/fixtures/gate.ts';
import { type KeptFixture, keptFixture } from '../../support/fixtures/kept-fixture.ts';
import { openTransaction } from '../../support/fixtures/open-transaction.ts';
import { ada } from '../../support/fixtures/operator.ts';
import { until } from '../../support/fixtures/until.ts';

const of = ({ group }: KeptFixture, ...ids: readonly string[]) => ({ group, ids });

test('the first try of a key that is parked again waits for handlers that began before or during the retry', async (end) => {
  const fixture = await keptFixture(end);
  const failed = await fixture.keep('1', { state: 'failed' });
  const arriving = (id: string) => [{ id, topic: 'orders', key: 'K' }];
  const commit = testGate(end);
  const retried = testGate(end);
  const retrying = fixture.database.transaction(async (sql) => {
    await sql.query('select outbox.retry_kept($1, $2)', [fixture.group, failed]);
    retried.open();
    await commit.opened;
  });
  await retried.opened;
  // Begins after the retry got its transaction id, and before it commits: the key is not there for it.
  const handler = testGate(end);
  const begun = testGate(end);
  let arrivals: readonly string[] = [];
  const handling = fixture.database.transaction(async (sql) => {
    arrivals = await noteArrivals(sql, fixture.group, arriving('2'));
    begun.open();
    await handler.opened;
  });
  await begun.opened;
  expect(arrivals).toEqual(['new']);
  commit.open();
  await retrying;

  for (let look = 0; look < 3; look += 1) expect(await fixture.begin(failed)).toEqual({ kind: 'busy' });
  const queued = await fixture.database.transaction((sql) => noteArrivals(sql, fixture.group, arriving('3')));
  expect(queued, 'who begins now sees the key').toEqual(['behind']);
  handler.open();
  await handling;
  expect(await fixture.beginOnceKnown(failed)).toMatchObject({ kind: 'try', message: { id: failed } });
});

test('the first try of a key that is parked again waits for older handlers as long as they run, and for no other transaction', {
  tags: ['order-survives-parking'],
}, async (end) => {
  const fixture = await keptFixture(end);
  const { database, group } = fixture;
  const failed = await fixture.keep('1', { state: 'failed' });
  const other = await openTransaction(fixture.url);
  await other.query('select pg_current_xact_id(), count(*) from outbox.message');
  const handler = await openTransaction(fixture.url);
  expect(await noteArrivals(handler, group, [{ id: '2', topic: 'orders', key: 'K' }])).toEqual(['new']);
  await fixture.operator.inbox.retry(of(fixture, failed), ada);
  await database.query(`update outbox.parked_key set parked_at = parked_at - interval '1 hour'`);

  for (let look = 0; look < 3; look += 1) expect(await fixture.begin(failed)).toEqual({ kind: 'busy' });
  const later = await openTransaction(fixture.url);
  expect(await noteArrivals(later, group, [{ id: '3', topic: 'orders', key: 'K' }])).toEqual(['behind']);
  await handler.commit();

  expect(await fixture.begin(failed)).toMatchObject({ kind: 'try', message: { id: failed } });
  await Promise.all([later.rollback(), other.rollback()]);
});

test.each([
  { arriving: 'one message', keys: ['K'] },
  { arriving: 'a batch', keys: ['K', 'L'] },
])(
  'the first try of a key that is parked again also waits for $arriving whose id could not be noted yet',
  { tags: ['order-survives-parking'] },
  async ({ keys }) => {
    const end = { onTestFinished };
    const fixture = await keptFixture(end);
    const { database, group } = fixture;
    const failed = await fixture.keep('1', { state: 'failed' });
    const [rolled, rolling] = [testGate(end), testGate(end)];
    const keeper = database.transaction(async (sql) => {
      await sql.query('lock table outbox.processed in share row exclusive mode');
      rolling.open();
      await rolled.opened;
    });
    await rolling.opened;
    const handler = testGate(end);
    const handling = database.transaction(async (sql) => {
      const arrivals = await noteArrivals(
        sql,
        group,
        keys.map((key, n) => ({ id: String(n + 2), topic: 'orders', key })),
      );
      await handler.opened;
      return arrivals;
    });
    await until(async () => {
      const waiting = await database.query(
        `select 1 from pg_locks where not granted and database = (select oid from pg_database where datname = current_database())`,
      );
      return waiting.length === 1;
    });

    await fixture.operator.inbox.retry(of(fixture, failed), ada);

    for (let look = 0; look < 3; look += 1) expect(await fixture.begin(failed)).toEqual({ kind: 'busy' });
    rolled.open();
    await keeper;
    handler.open();
    expect(await handling, 'it did not see the key').toEqual(keys.map(() => 'new'));
    expect(await fixture.beginOnceKnown(failed)).toMatchObject({ kind: 'try' });
  },
);
