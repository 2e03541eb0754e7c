import { expect, test } from 'vitest';
import { requirePostgres } from '../../../src/store/database/foreign-client.ts';
import { fromQuery, sqlOf } from '../../../src/store/database/transaction.ts';

/** Errors of a statement of PostgreSQL, as the drivers of other databases make them. */
test.each([
  ['MySQL', { code: 'ER_PARSE_ERROR', errno: 1064, sqlState: '42000' }],
  ['SQLite', { code: 'SQLITE_ERROR' }],
  ['SQLite', { code: 'ERR_SQLITE_ERROR', errcode: 1 }],
  ['SQL Server', { code: 'EREQUEST', originalError: { info: { number: 102 } } }],
])('a statement that %s refuses is told as one of a client of another database', async (database, parts) => {
  const refused = Object.assign(new Error('syntax error near "table"'), parts);
  const sql = sqlOf(fromQuery(() => Promise.reject(refused)));

  await expect(sql.query('select 1')).rejects.toMatchObject({
    code: 'OUTBOX_CLIENT_UNFIT',
    message: expect.stringMatching(`^The client is of ${database}, but the outbox is in PostgreSQL`),
    details: { database },
    cause: refused,
  });
});

test.each([{ code: '42601' }, { code: 'ECONNREFUSED' }, {}])(
  'an error with %o stays what it is',
  async (parts) => {
    const refused = Object.assign(new Error('refused'), parts);

    await expect(sqlOf(fromQuery(() => Promise.reject(refused))).query('select 1')).rejects.toBe(refused);
  },
);

test.each(['mysql', 'sqlite', 'sqlserver', 'jdbc:sqlserver', 'mongodb', 'cockroachdb'])(
  'a client with the provider %s is refused',
  (provider) => {
    expect(() => requirePostgres({ _activeProvider: provider })).toThrow(
      expect.objectContaining({ code: 'OUTBOX_CLIENT_UNFIT', details: { database: provider } }),
    );
  },
);

test.each([{ _activeProvider: 'postgresql' }, {}, null, undefined, 'mysql'])(
  'a client such as %o passes',
  (given) => {
    expect(() => requirePostgres(given)).not.toThrow();
  },
);
