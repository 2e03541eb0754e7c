import { expect, type TestContext, test } from 'vitest';
import { openDatabase } from '../../../src/store/database/pool.ts';
import { createTestDatabase } from '../../support/fixtures/database.ts';
import { until } from '../../support/fixtures/until.ts';

/** A database that ends its idle sessions. */
async function impatient({ onTestFinished }: TestContext, limit: string) {
  const made = await createTestDatabase();
  onTestFinished(() => made.drop());
  const name = new URL(made.url).pathname.slice(1);
  await made.database.query(`alter database ${name} set idle_session_timeout = '${limit}'`);
  const database = openDatabase({ url: made.url, connections: 1, ownNames: true });
  onTestFinished(() => database.close());
  return { ...made, database, watcher: made.database };
}

test('connections of relays and commands are not ended as idle', async (context) => {
  const { database } = await impatient(context, '1s');
  expect(
    await database.query(
      `select reset_val <> '0' as limited, current_setting('idle_session_timeout') as here, current_setting('search_path') as path
       from pg_settings where name = 'idle_session_timeout'`,
    ),
  ).toEqual([{ limited: true, here: '0', path: 'pg_catalog, pg_temp' }]);
});

test('the session of a relay is not ended as idle between its pings', async (context) => {
  const { database, watcher } = await impatient(context, '100ms');
  const session = await database.openSession('news', () => undefined);
  try {
    const look = async () => {
      const [row] = await watcher.query<{ pid: number; at: string }>(
        `select pid, query_start::text as at from pg_stat_activity
         where datname = current_database() and application_name = 'temporal-outbox session'`,
      );
      return row;
    };
    const first = await look();
    expect(first).toBeDefined();
    let next = first;
    await until(async () => {
      next = await look();
      return next?.at !== first?.at;
    });
    expect(next).toMatchObject({ pid: first?.pid });
  } finally {
    await session.stop();
  }
});
