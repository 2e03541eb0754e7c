import { expect, onTestFinished, test } from 'vitest';
import type { Database } from '../../../src/store/database/database.ts';
import { openDatabase } from '../../../src/store/database/pool.ts';
import { createTestDatabase } from '../../support/fixtures/database.ts';

async function oneConnection(): Promise<Database> {
  const made = await createTestDatabase();
  const database = openDatabase({ url: made.url, connections: 1 });
  onTestFinished(async () => {
    await database.close();
    await made.drop();
  });
  return database;
}

const text = 'select $1::integer + 1 as next';

async function ask(database: Database): Promise<unknown> {
  const [row] = await database.query<{ next: number }>(text, [1], 'repeated');
  return row?.next;
}

async function preparedNames(database: Database): Promise<readonly string[]> {
  const rows = await database.query<{ name: string }>(
    'select name from pg_prepared_statements where statement = $1',
    [text],
  );
  return rows.map(({ name }) => name);
}

test('a repeated statement is parsed once', async () => {
  const database = await oneConnection();

  expect([await ask(database), await ask(database)]).toEqual([2, 2]);
  expect(await preparedNames(database)).toHaveLength(1);
});

test('a statement that the connection no longer has is still answered, as behind a pooler', {
  tags: ['pooler-costs-speed-only'],
}, async () => {
  const database = await oneConnection();
  await ask(database);
  await database.query('deallocate all');

  expect([await ask(database), await ask(database)]).toEqual([2, 2]);
  expect(await preparedNames(database)).toEqual([]);
});

test('a statement whose name another client has prepared on the connection is still answered', async () => {
  const database = await oneConnection();
  await ask(database);
  const [name = ''] = await preparedNames(database);
  const other = await oneConnection();
  await other.query(`prepare "${name}" (integer) as ${text}`);

  expect(await ask(other)).toBe(2);
});

test('a statement whose columns a migration has changed is answered with the new ones', async () => {
  const database = await oneConnection();
  await database.query('create table place (n integer)');
  const wide = (): Promise<readonly unknown[]> => database.query('select * from place', [], 'repeated');
  await wide();
  await database.query('alter table place add column city text');
  await database.query(`insert into place values (1, 'here')`);

  expect(await wide()).toEqual([{ n: 1, city: 'here' }]);
});
