import { afterAll, beforeAll, expect, test } from 'vitest';
import { verifyStructure } from '../../../src/store/verify/structure.ts';
import { createTestDatabase, type TestDatabase } from '../../support/fixtures/database.ts';

let at: TestDatabase;
beforeAll(async () => {
  at = await createTestDatabase();
});
afterAll(() => at.drop());

test('verify finds every trigger of the messages that is disabled, and every index of theirs that is missing', async () => {
  const { database } = at;
  const triggers = await database.query<{ name: string }>(
    `select tgname as name from pg_trigger where tgrelid = 'outbox.message'::regclass and not tgisinternal order by 1`,
  );
  const indexes = await database.query<{ name: string }>(
    `select c.relname as name from pg_index i join pg_class c on c.oid = i.indexrelid
     where i.indrelid = 'outbox.message'::regclass order by 1`,
  );
  expect(triggers.length).toBeGreaterThan(4);
  expect(indexes.length).toBeGreaterThan(15);
  expect((await verifyStructure(database)).violations).toBe(0);

  await database.query('alter table outbox.message disable trigger user');
  for (const { name } of indexes) await database.query(`alter index outbox.${name} rename to x_${name}`);

  const found = await verifyStructure(database);
  expect(found.violations).toBe(triggers.length + indexes.length);
});
