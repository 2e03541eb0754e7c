import pg from 'pg';
import { expect, test } from 'vitest';
import { openDatabase } from '../../../src/store/database/pool.ts';
import { clientOf } from '../../../src/store/database/pool-client.ts';
import { createTestDatabase } from '../../support/fixtures/database.ts';
import { letWrite } from '../../support/fixtures/read-only.ts';

const write = 'insert into written default values returning 1 as one';

/** Ways to write with one connection, which must not be used again after it could not. */
const ways = {
  'a transaction of a relay': (url: string) => {
    const database = openDatabase({ url, connections: 1 });
    return {
      write: () => database.transaction((sql) => sql.query(write)),
      close: () => database.close(),
    };
  },
  'a statement of a relay': (url: string) => {
    const database = openDatabase({ url, connections: 1 });
    return { write: () => database.query(write), close: () => database.close() };
  },
  'a transaction of clientOf': (url: string) => {
    const pool = new pg.Pool({ connectionString: url, max: 1, idleTimeoutMillis: 0 });
    const client = clientOf(pool);
    return { write: () => client.$transaction((tx) => tx.query(write)), close: () => pool.end() };
  },
  'a callback of clientOf': (url: string) => {
    const pool = new pg.Pool({ connectionString: url, max: 1, idleTimeoutMillis: 0 });
    const client = clientOf(pool);
    const called = (tx: { readonly connection: pg.PoolClient }): Promise<unknown> =>
      new Promise((resolve, reject) => {
        tx.connection.query(write, (error: Error | null, result: unknown) =>
          error === null || error === undefined ? resolve(result) : reject(error),
        );
      });
    return { write: () => client.$transaction(called), close: () => pool.end() };
  },
};

test.for(Object.entries(ways))(
  '%s ends the session that was read-only, and the next one writes',
  { tags: ['read-only-session-not-reused'] },
  async ([, open], { onTestFinished }) => {
    const made = await createTestDatabase();
    onTestFinished(() => made.drop());
    await made.database.query('create table written (n serial)');
    await letWrite(made.url, false);
    const way = open(made.url);
    onTestFinished(() => way.close());
    await expect(way.write()).rejects.toMatchObject({ code: '25006' });
    await letWrite(made.url, true);

    const [second] = await Promise.allSettled([way.write()]);

    expect(second).toMatchObject({ status: 'fulfilled' });
  },
);
