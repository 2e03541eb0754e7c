import { expect, test } from 'vitest';
import { readGroups } from '../../../src/store/inbox/status.ts';
import { type KeptFixture, keptFixture } from '../../support/fixtures/kept-fixture.ts';
import { ada } from '../../support/fixtures/operator.ts';

const hour = 3_600_000;
const countingTo = 2;

/** Ages a message, and the queue that it is in. */
async function arrivedHoursAgo({ database }: KeptFixture, hours: number, id: string): Promise<void> {
  await database.query(
    `with aged as (
       update outbox.parked set arrived_at = arrived_at - $1 * interval '1 hour' where message_id = $2 returning key_id
     )
     update outbox.parked_key k set parked_at = k.parked_at - $1 * interval '1 hour' from aged where k.id = aged.key_id`,
    [hours, id],
  );
}

test('of more parked messages than are counted, the age is that of the oldest, whichever is tried next', {
  tags: ['alerts-told-once'],
}, async (end) => {
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

test('of more kept messages than are counted, blocked keys are told, and how long messages wait behind them', {
  tags: ['alerts-told-once'],
}, async (end) => {
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

test('a failed message that is retried has been parked since then, and not since it arrived', {
  tags: ['alerts-told-once'],
}, async (end) => {
  const fixture = await keptFixture(end);
  const failed = await fixture.keep('failed', { key: 'a', state: 'failed' });
  await arrivedHoursAgo(fixture, 3, failed);
  await fixture.operator.inbox.retry({ group: fixture.group, ids: [failed] }, ada);

  const [retried] = await readGroups(fixture.database, countingTo);
  expect(retried).toMatchObject({ parked: 1, failed: 0 });
  expect(retried?.oldestParkedMs).toBeLessThan(hour);

  const other = await fixture.keep('other', { key: 'b' });
  await arrivedHoursAgo(fixture, 2, other);
  const [group] = await readGroups(fixture.database, countingTo);
  expect(group?.oldestParkedMs).toBeGreaterThanOrEqual(2 * hour);
  expect(group?.oldestParkedMs).toBeLessThan(3 * hour);
});
