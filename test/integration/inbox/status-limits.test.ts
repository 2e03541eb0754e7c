import { expect, test } from 'vitest';
import { readGroups } from '../../../src/store/inbox/status.ts';
import { type KeptFixture, keptFixture } from '../../support/fixtures/kept-fixture.ts';

const hour = 3_600_000;
const countingTo = 2;

async function arrivedHoursAgo({ database }: KeptFixture, hours: number, id: string): Promise<void> {
  await database.query(
    `update outbox.parked set arrived_at = arrived_at - $1 * interval '1 hour' where message_id = $2`,
    [hours, id],
  );
}

test('of more parked messages than are counted, the age is that of the oldest, whichever is tried next', async (end) => {
  const fixture = await keptFixture(end);
  const oldest = await fixture.keep('oldest', { key: 'late' });
  for (const key of ['a', 'b', 'c']) await fixture.keep(key, { key });
  await arrivedHoursAgo(fixture, 3, oldest);
  await fixture.database.query(
    `update outbox.parked_key set next_at = next_at + interval '1 day' where key = 'late'`,
  );

  const [group] = await readGroups(fixture.database, countingTo);
  expect(group).toMatchObject({ parked: countingTo, parkedKeys: countingTo, blockedKeys: 0 });
  expect(group?.oldestParkedMs).toBeGreaterThanOrEqual(3 * hour);
});

test('of more kept messages than are counted, blocked keys are told, and how long messages wait behind them', async (end) => {
  const fixture = await keptFixture(end, { blockKey: true });
  for (const key of ['a', 'b', 'c']) await fixture.keep(key, { key: null, state: 'failed' });
  for (const key of ['a', 'b', 'c']) await fixture.keep(key, { key });
  await fixture.keep('failed', { key: 'blocked', state: 'failed', blocksKey: true });
  const behind = await fixture.keep('behind', { key: 'blocked' });
  await arrivedHoursAgo(fixture, 3, behind);

  const [group] = await readGroups(fixture.database, countingTo);
  expect(group).toMatchObject({ parked: countingTo, blockedKeys: 1, failed: countingTo });
  expect(group?.oldestParkedMs).toBeGreaterThanOrEqual(3 * hour);
});
