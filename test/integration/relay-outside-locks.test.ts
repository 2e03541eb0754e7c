import { afterEach, beforeEach, expect, test } from 'vitest';
import { LaneBlockers } from '../../src/relay/lane-blockers.ts';
import type { RelayEvent } from '../../src/relay/report.ts';
import { openDatabase, relayLimits } from '../../src/store/database/pool.ts';
import { pauseIfRunning } from '../../src/store/lane/pause.ts';
import { type LaneFixture, laneFixture } from '../support/fixtures/lane-fixture.ts';

let fixture: LaneFixture;
beforeEach(async () => {
  fixture = await laneFixture();
});
afterEach(() => fixture.drop());

test('who keeps the row of a lane locked is told once, by process and application', async () => {
  const events: RelayEvent[] = [];
  const blockers = new LaneBlockers(fixture.database, (event) => events.push(event), {
    tellAfterMs: 0,
    lookEveryMs: 0,
  });
  const stranger = await fixture.begin();
  const [own] = await stranger.query<{ pid: number }>('select pg_backend_pid() as pid');
  await stranger.query(`update outbox.lane set cursor = cursor`);

  await blockers.check();
  await blockers.check();
  await stranger.commit();
  await blockers.check();

  expect(events).toMatchObject([
    {
      type: 'error',
      during: 'start-lanes',
      error: { code: 'OUTBOX_LANE_LOCKED', details: { pid: own?.pid } },
    },
  ]);
});

test('a lane whose row somebody has locked is neither waited for nor taken', async () => {
  await fixture.send('A');
  const stranger = await fixture.begin();
  await stranger.query(`update outbox.lane set cursor = cursor`);

  expect(await fixture.drain({ signal: AbortSignal.abort() })).toBe('more');
  await stranger.commit();

  expect(await fixture.drain()).toBe('quiet');
  expect(fixture.broker.labels).toEqual(['A']);
});

test('a transaction of a relay gives up a lock that it does not get, and its connection is as good as before', async () => {
  const database = openDatabase({
    url: fixture.url,
    connections: 1,
    limits: { ...relayLimits, lockMs: 50 },
  });
  const stranger = await fixture.begin();
  await stranger.query(`select from outbox.topic for update`);
  const author = { actor: 'ada' };

  await expect(pauseIfRunning(database, 'orders', author, {})).rejects.toMatchObject({ code: '55P03' });
  await stranger.commit();

  expect(await pauseIfRunning(database, 'orders', author, {})).toBeDefined();
  await database.close();
});

test('a transaction that is silent is ended with its locks, whatever became of its process', async () => {
  const limits = await fixture.database.transaction((sql) =>
    sql.query<{ name: string; setting: string }>(
      `select name, setting from pg_settings where name = 'idle_in_transaction_session_timeout'`,
    ),
  );

  expect(limits).toEqual([{ name: 'idle_in_transaction_session_timeout', setting: '5000' }]);
});
