import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { applyMigrations } from '../../../src/operations/schema.ts';
import { openDatabase } from '../../../src/store/database/pool.ts';
import { createEmptyDatabase } from '../../support/fixtures/database.ts';

test.each(['LATIN1', 'SQL_ASCII'])(
  'a database in %s is refused before anything is made in it',
  async (encoding) => {
    const made = await createEmptyDatabase();
    const name = `test_${randomBytes(8).toString('hex')}`;
    await made.database.query(`create database ${name} encoding '${encoding}' locale 'C' template template0`);
    const url = new URL(made.url);
    url.pathname = `/${name}`;
    const database = openDatabase({ url: url.href, connections: 1 });
    try {
      await expect(applyMigrations({ url: url.href })).rejects.toMatchObject({
        code: 'OUTBOX_SERVER_UNFIT',
        message: expect.stringContaining(encoding),
        details: { encoding },
      });
      expect(await database.query(`select from pg_namespace where nspname = 'outbox'`)).toEqual([]);
    } finally {
      await database.close();
      await made.database.query(`drop database ${name} with (force)`);
      await made.drop();
    }
  },
);
