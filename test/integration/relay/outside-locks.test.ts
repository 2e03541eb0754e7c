import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { drainLane } from '../../../src/relay/drain-lane.ts';
import { LaneBlockers } from '../../../src/relay/lane-blockers.ts';
import type { RelayEvent } from '../../../src/relay/report.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { openDatabase, relayLimits } from '../../../src/store/database/pool.ts';
import { pauseIfRunning } from '../../../src/store/lane/pause.ts';
import { forgetTold, markTold, untoldMessages } from '../../../src/store/lane/starts.ts';
import { gate } from '../../support/fixtures/gate.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import { startTestRelay } from '../../support/fixtures/test-relay.ts';
import { until } from '../../support/fixtures/until.ts';

let fixture: LaneFixture;
eachLane((made) => (fixture = made));

test('a process that keeps the row of a lane locked is reported once, with its application', async () => {
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

test('a lane whose row is locked is neither waited for nor taken', async () => {
  await fixture.send('A');
  const stranger = await fixture.begin();
  await stranger.query(`update outbox.lane set cursor = cursor`);

  expect(await fixture.drain({ signal: AbortSignal.abort() })).toBe('more');
  await stranger.commit();

  expect(await fixture.drain()).toBe('quiet');
  expect(fixture.broker.labels).toEqual(['A']);
});

test('a transaction of a relay gives up on a lock that it does not get, and its connection stays usable', async () => {
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

test('a silent transaction is ended with its locks, whatever happened to its process', async () => {
  const limits = await fixture.database.transaction((sql) =>
    sql.query<{ name: string; setting: string }>(
      `select name, setting from pg_settings where name = 'idle_in_transaction_session_timeout'`,
    ),
  );

  expect(limits).toEqual([{ name: 'idle_in_transaction_session_timeout', setting: '5000' }]);
});

test('while the row of a lane is locked, its slow publish keeps one connection waiting at a time', {
  tags: ['no-lane-stops'],
}, async (context) => {
  // Longer than between two looks at the lease, so that renewals would overlap.
  const pool = openDatabase({ url: fixture.url, limits: { ...relayLimits, lockMs: 500 } });
  context.onTestFinished(() => pool.close());
  let running = 0;
  let most = 0;
  let ended = 0;
  const counted: Database = {
    ...pool,
    async transaction(work) {
      running += 1;
      most = Math.max(most, running);
      return pool.transaction(work).finally(() => {
        running -= 1;
        ended += 1;
      });
    },
  };
  const sent = gate();
  fixture.broker.before = () => sent.opened;
  await fixture.send('A');
  const drained = drainLane({ ...fixture.drainInput(), database: counted });
  await until(() => fixture.broker.batches.length > 0 || fixture.events.length > 0);
  const stranger = await fixture.begin();
  await stranger.query(`update outbox.lane set cursor = cursor`);

  // The first renewal comes after three seconds. Each gives up, and leaves the lane to its owner.
  await until(() => ended >= 3, 60_000);
  await stranger.commit();
  sent.open();

  expect(await drained).toBe('quiet');
  expect(most).toBe(1);
  expect(fixture.broker.labels).toEqual(['A']);
  expect(fixture.events.map(({ type }) => type)).not.toContain('lane-lost');
});

test('locked messages are neither waited for nor forgotten after their workflows were started', {}, async () => {
  for (const label of ['locked', 'free']) await fixture.send(label, { afterMs: 3_600_000 });
  const stranger = await fixture.begin();
  await fixture.cancel('locked', stranger);
  const untold = async (): Promise<readonly string[]> =>
    (await untoldMessages(fixture.database, 10)).map(({ id }) => id);
  const told = await untoldMessages(fixture.database, 10);
  const both = [fixture.idOf('locked'), fixture.idOf('free')];
  expect(told.map(({ id }) => id).toSorted()).toEqual(both.toSorted());

  const soon = (answer: Promise<unknown>): Promise<unknown> =>
    Promise.race([answer, delay(10_000, 'waits', { ref: false })]);
  const marked = await soon(markTold(fixture.database, told));
  const left = await untold();
  const forgotten = await soon(forgetTold(fixture.database, both));
  // First, because what waits for it also keeps this test from its end.
  await stranger.rollback();
  expect(marked).toEqual([fixture.idOf('free')]);
  expect(left).toEqual([fixture.idOf('locked')]);
  expect(forgotten).toBe(1);

  expect(await markTold(fixture.database, told)).toHaveLength(2);
  expect(await untold()).toEqual([]);
});

test('workflows of waiting messages are started although a business transaction has locked more of them than are read at once', {}, async () => {
  for (let n = 0; n < 250; n += 1) await fixture.send(`locked ${n}`, { afterMs: 3_600_000 });
  await fixture.send('free', { afterMs: 7_200_000 });
  const stranger = await fixture.begin();
  await stranger.query(
    `select from outbox.message where due_at < outbox.clock() + interval '90 minutes' for update`,
  );
  const relay = await startTestRelay(fixture);

  const told = async (): Promise<boolean> => {
    const [row] = await fixture.database.query<{ told: boolean }>(
      'select workflow_due_at is not null as told from outbox.message where id = $1',
      [fixture.idOf('free')],
    );
    return row?.told === true;
  };
  const starts = () => relay.workflows.messageStarts.length;
  // Two rounds of starts of what is locked, and more.
  await until(async () => (await told()) || starts() > 1_000, 60_000);
  expect(await told()).toBe(true);
  await stranger.commit();
  await until(async () => (await untoldMessages(fixture.database, 1)).length === 0, 60_000);
  await relay.stop();
});
