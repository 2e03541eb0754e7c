import { afterEach, beforeEach, expect, test } from 'vitest';
import { LaneBlockers } from '../../src/relay/lane-blockers.ts';
import type { RelayEvent } from '../../src/relay/report.ts';
import { openDatabase, relayLimits } from '../../src/store/database/pool.ts';
import { pauseIfRunning } from '../../src/store/lane/pause.ts';
import { type LaneBench, laneBench } from '../support/fixtures/lane-bench.ts';

let bench: LaneBench;
beforeEach(async () => {
  bench = await laneBench();
});
afterEach(() => bench.drop());

test('who keeps the row of a lane locked is told once, by process and application', async () => {
  const events: RelayEvent[] = [];
  const blockers = new LaneBlockers(bench.database, (event) => events.push(event), {
    tellAfterMs: 0,
    lookEveryMs: 0,
  });
  const stranger = await bench.begin();
  const [own] = await stranger.query<{ pid: number }>('select pg_backend_pid() as pid');
  await stranger.query(`update outbox.lane set cursor = cursor`);

  await blockers.check();
  await blockers.check();
  await stranger.commit();
  await blockers.check();

  expect(events).toMatchObject([
    {
      type: 'failed',
      what: 'start-lanes',
      error: { code: 'OUTBOX_LANE_LOCKED', details: { pid: own?.pid } },
    },
  ]);
});

test('a lane whose row somebody has locked is neither waited for nor taken', async () => {
  await bench.send('A');
  const stranger = await bench.begin();
  await stranger.query(`update outbox.lane set cursor = cursor`);

  expect(await bench.drain({ signal: AbortSignal.abort() })).toBe('more');
  await stranger.commit();

  expect(await bench.drain()).toBe('quiet');
  expect(bench.broker.labels).toEqual(['A']);
});

test('a transaction of a relay gives up a lock that it does not get, and its connection is as good as before', async () => {
  const database = openDatabase({
    url: bench.url,
    connections: 1,
    limits: { ...relayLimits, lockMs: 50 },
  });
  const stranger = await bench.begin();
  await stranger.query(`select from outbox.topic for update`);
  const author = { actor: 'ada' };

  await expect(pauseIfRunning(database, 'orders', author, {})).rejects.toMatchObject({ code: '55P03' });
  await stranger.commit();

  expect(await pauseIfRunning(database, 'orders', author, {})).toBeDefined();
  await database.close();
});

test('a transaction that is silent is ended with its locks, whatever became of its process', async () => {
  const limits = await bench.database.transaction((sql) =>
    sql.query<{ name: string; setting: string }>(
      `select name, setting from pg_settings where name = 'idle_in_transaction_session_timeout'`,
    ),
  );

  expect(limits).toEqual([{ name: 'idle_in_transaction_session_timeout', setting: '5000' }]);
});
