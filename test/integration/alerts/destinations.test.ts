import { afterEach, beforeEach, expect, test } from 'vitest';
import { noteNewsTold, noteUntold, takeDestination } from '../../../src/store/alerts/destinations.ts';
import { type LaneFixture, laneFixture } from '../../support/fixtures/lane-fixture.ts';

const name = 'webhook';

let lanes: LaneFixture;
beforeEach(async () => {
  lanes = await laneFixture();
});
afterEach(() => lanes.drop());

const take = () => takeDestination(lanes.database, name, { leaseMs: 60_000, gapMs: 60_000 });
const setBack = (column: 'leased_until' | 'told_at') =>
  lanes.database.query(`update outbox.alert_destination set ${column} = ${column} + interval '1 hour'`);

test('a lease from before the clock was set back by an hour is over', {
  tags: ['set-back-clock-silences-nothing'],
}, async () => {
  expect(await take()).toBe(true);
  expect(await take()).toBe(false);

  await setBack('leased_until');

  expect(await take()).toBe(true);
  expect(await take()).toBe(false);
});

test('a destination that was told before the clock was set back by an hour is told at once', {
  tags: ['set-back-clock-silences-nothing'],
}, async () => {
  await take();
  await noteNewsTold(lanes.database, name, []);
  expect(await take()).toBe(false);

  await setBack('told_at');

  expect(await take()).toBe(true);
});

test('a destination that has failed often rests for five minutes, whatever the lease', {
  tags: ['set-back-clock-silences-nothing'],
}, async () => {
  await take();
  for (let failures = 1; failures <= 10; failures += 1) await noteUntold(lanes.database, name, 'away');

  expect(await take()).toBe(false);
  const [row] = await lanes.database.query<{ restMs: number }>(
    `select (extract(epoch from leased_until - clock_timestamp()) * 1000)::float8 as "restMs" from outbox.alert_destination`,
  );
  expect(row?.restMs).toBeGreaterThan(240_000);
  expect(row?.restMs).toBeLessThanOrEqual(300_000);
});
