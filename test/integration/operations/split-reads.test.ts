import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Database } from '../../../src/store/database/database.ts';
import { openDatabase } from '../../../src/store/database/pool.ts';
import { emptyHands } from '../../../src/store/lane/lanes-empty.ts';
import { ownLane } from '../../support/fixtures/lane-fixture.ts';

test('messages that a dead owner may have sent are suspect even if a proxy sends queries to a standby that lags', async (context) => {
  const fixture = await ownLane();
  // Sees what a standby would that has received nothing since.
  const behind = await fixture.begin();
  context.onTestFinished(() => behind.rollback());
  await behind.query('set transaction isolation level repeatable read');
  await behind.query('select pg_current_snapshot()');
  const split: Database = {
    ...fixture.database,
    query: <Row>(text: string, values?: readonly unknown[]) =>
      /^\s*select\b/.test(text)
        ? behind.query<Row>(text, values === undefined ? [] : [...values])
        : fixture.database.query<Row>(text, values),
  };
  await fixture.send('in hand');
  await fixture.database.query(
    `update outbox.lane set owner = $1, alive_until = clock_timestamp() - interval '1 minute', incarnation = outbox.incarnation()`,
    [randomUUID()],
  );

  expect(await emptyHands(split, fixture.lane)).toBe(true);

  const suspects = await fixture.database.query(
    `select m.id from outbox.message m join outbox.lane l on l.topic = m.topic and l.n = m.lane
     where pg_visible_in_snapshot(m.xid, l.suspect)`,
  );
  expect(suspects).toEqual([{ id: fixture.idOf('in hand') }]);
});

test('a transaction is read committed, whatever the default of its database', async (context) => {
  const fixture = await ownLane();
  const [own] = await fixture.database.query<{ name: string }>('select current_database() as name');
  await fixture.database.query(
    `alter database ${own?.name ?? ''} set default_transaction_isolation = 'serializable'`,
  );
  const database = openDatabase({ url: fixture.url, connections: 1 });
  context.onTestFinished(() => database.close());

  expect(await database.query('show default_transaction_isolation')).toEqual([
    { default_transaction_isolation: 'serializable' },
  ]);
  expect(await database.transaction((sql) => sql.query('show transaction_isolation'))).toEqual([
    { transaction_isolation: 'read committed' },
  ]);
});
