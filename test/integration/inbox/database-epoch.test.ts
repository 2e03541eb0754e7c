import { expect, onTestFinished, test } from 'vitest';
import { readDatabaseEpoch } from '../../../src/store/inbox/database-epoch.ts';
import { copyDatabase, createTestDatabase } from '../../support/fixtures/database.ts';

test('a database keeps its epoch, and a copy of it has another one, so that a filter has nothing of the original', async () => {
  const original = await createTestDatabase();
  onTestFinished(() => original.drop());
  const epoch = await readDatabaseEpoch(original.database);
  expect(await readDatabaseEpoch(original.database)).toBe(epoch);
  expect(epoch).toMatch(/^[0-9a-f-]{36}\.\d+\.\d+\.[0-9A-F]{8}$/);

  const copy = await copyDatabase(original.url);
  onTestFinished(() => copy.drop());
  expect(await readDatabaseEpoch(copy.database)).not.toBe(epoch);
});
