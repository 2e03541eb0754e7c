import { expect, test } from 'vitest';
import { adopt } from '../../../src/operations/delivery/adopt.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { verifyStructure } from '../../../src/store/verify/structure.ts';
import { copyDatabase, createTestDatabase } from '../../support/fixtures/database.ts';

/** Whether a consumer takes a message for a new one, that comes alone or in a batch. */
async function isNew(database: Database, id: string, how: 'alone' | 'in a batch'): Promise<boolean> {
  const call =
    how === 'alone'
      ? `select outbox.receive_one('billing', $1, 'orders', 10000, 10000, null) is true as new`
      : `select exists (select from outbox.mark_processed('billing', array[$1], array['orders'])) as new`;
  const [row] = await database.query<{ new: boolean }>(call, [id]);
  return row?.new ?? false;
}

test('a copy whose original began an epoch of processed ids meanwhile stores them in that once it is adopted, and knows those of before', {
  tags: ['window-kept'],
}, async ({ onTestFinished }) => {
  const original = await createTestDatabase();
  onTestFinished(() => original.drop());
  expect(await isNew(original.database, 'before', 'in a batch')).toBe(true);
  const copy = await copyDatabase(original.url);
  onTestFinished(() => copy.drop());
  const { database } = copy;
  // As replication copies them: rows of outbox.processed_epoch, and no table and no function.
  await database.query(`update outbox.processed_epoch set ended_at = now() - interval '1 day'`);
  await database.query('insert into outbox.processed_epoch (epoch, begun_at) values (2, now())');
  const { violations } = await verifyStructure(database);
  expect(violations).toBeGreaterThan(1);

  expect(await adopt(database, { actor: 'test' })).toMatchObject({ adopted: true });

  expect(await verifyStructure(database)).toMatchObject({ violations: 0 });
  for (const how of ['alone', 'in a batch'] as const) {
    expect(await isNew(database, 'before', how), how).toBe(false);
    expect(await isNew(database, how, how)).toBe(true);
  }
  const stored = await database.query<{ epoch: string; id: string }>(
    'select epoch::text as epoch, message_id as id from outbox.processed order by 1, 2',
  );
  expect(stored.map(({ epoch, id }) => `${epoch} ${id}`)).toEqual(['1 before', '2 alone', '2 in a batch']);
  await expect(
    database.query(
      `insert into outbox.processed_1 (epoch, consumer_group, message_id) values (1, 'billing', 'late')`,
    ),
    'what began to store in the epoch that has ended is refused',
  ).rejects.toThrow('has ended since this transaction began');
});
