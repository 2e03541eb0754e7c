import { randomUUID } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import { statusOf } from '../../../src/operations/delivery/status.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { readFigures } from '../../../src/store/figures/read-figures.ts';
import { writeBreakers } from '../../../src/store/inbox/breakers.ts';
import { removeConsumer, writeConsumer } from '../../../src/store/inbox/consumers.ts';
import { type GroupLag, writeRelay } from '../../../src/store/installation/relays.ts';
import { type LaneFixture, ownLane } from '../../support/fixtures/lane-fixture.ts';
import { quietRelay } from '../../support/fixtures/quiet-figures.ts';

let lanes: LaneFixture;
let database: Database;
beforeEach(async () => {
  lanes = await ownLane();
  ({ database } = lanes);
});

test('figures say of each topic how late it is and why, and of one without a relay that nobody delivers it', {
  tags: ['alerts-told-once'],
}, async () => {
  await lanes.send('late');
  await database.query(
    `insert into outbox.topic select (t).* from (select jsonb_populate_record(t, '{"name": "quiet"}') as t from outbox.topic t) x`,
  );
  await database.query(`insert into outbox.lane (topic, n) values ('quiet', 0)`);
  await database.query(
    `insert into outbox.message (id, topic, lane, position, xid, payload, state, created_at, updated_at)
     values (gen_random_uuid(), 'nobody', 0, nextval('outbox.message_position'), pg_current_xact_id(), '{}', 'ready',
       outbox.clock() - interval '20 minutes', outbox.clock())`,
  );
  const held = { scope: 'topic', reason: 'no leader', since: new Date().toISOString() };
  await database.query(`update outbox.lane set hold = $1::jsonb where topic = 'orders'`, [
    JSON.stringify(held),
  ]);
  const { due } = await readFigures(database);
  expect(due).toEqual([
    { topic: 'nobody', announced: false, oldestDueMs: expect.any(Number), reason: null },
    {
      topic: 'orders',
      announced: true,
      oldestDueMs: expect.any(Number),
      reason: 'lane 0 is on hold: no leader',
    },
    { topic: 'quiet', announced: true, oldestDueMs: null, reason: null },
  ]);

  await database.query(
    `update outbox.message set created_at = created_at - interval '1 minute' where topic = 'orders'`,
  );
  const other = await lanes.begin();
  await other.query(`select from outbox.lane where topic = 'orders' for update`);
  await expect
    .poll(async () => (await readFigures(database)).due.find(({ topic }) => topic === 'orders')?.reason, {
      timeout: 60_000,
    })
    .toMatch(/^lane 0 is locked by pid \d+/);
  await other.rollback();
});

test('figures say of each group how many consumers run, since when none does, what waits, and what its breakers pause', {
  tags: ['alerts-told-once'],
}, async () => {
  await database.query(
    `insert into outbox.consumer_group values ('billing', null, outbox.clock() - interval '14 minutes')`,
  );
  const lags = ['orders', 'bills'].map((topic) => ({ group: 'billing', topic, messages: 7 }));
  await writeRelay(database, { ...quietRelay, id: randomUUID(), lags });
  const one = { id: randomUUID(), group: 'billing', host: 'here', pid: 1, version: '1', partitions: [] };
  await writeConsumer(database, one);
  const broken = { failedKeys: 9, keys: 10, probes: 1, nextProbeInMs: 0, error: 'connect ECONNREFUSED' };
  for (const [consumer, pausedMs] of [
    [one.id, 60_000],
    [randomUUID(), 90_000],
  ] as const)
    await writeBreakers(database, { ...one, consumer }, [{ ...broken, address: 'orders', pausedMs }]);

  const running = await readFigures(database);
  expect(running.attended).toMatchObject([{ group: 'billing', consumers: 1, unread: 14 }]);
  expect(running.pausedAddresses).toMatchObject([
    { group: 'billing', address: 'orders', error: 'connect ECONNREFUSED' },
  ]);
  expect(running.pausedAddresses[0]?.pausedMs).toBeGreaterThanOrEqual(90_000);

  await removeConsumer(database, one.id);
  const { attended } = await readFigures(database);
  expect(attended).toMatchObject([{ group: 'billing', consumers: 0 }]);
  // Not the age of the row of the group, which consumers note every few minutes.
  expect(attended[0]?.seenMs).toBeLessThan(10 * 60_000);
});

test('figures have the lags that any living relay knows, as it was seen last, and the clock that is off most', async () => {
  const lag = (topic: string, messages: number) => ({ group: 'billing', topic, messages });
  const write = async (
    clockOffsetMs: number,
    lags: readonly GroupLag[],
    secondsAgo: number,
  ): Promise<void> => {
    const id = randomUUID();
    const host = `host-${clockOffsetMs}`;
    await writeRelay(database, { ...quietRelay, host, id, clockOffsetMs, lags });
    await database.query(`update outbox.relay set seen_at = seen_at - $2 * interval '1 s' where id = $1`, [
      id,
      secondsAgo,
    ]);
  };
  await write(1_000, [lag('orders', 12)], 0);
  await write(-40_000, [lag('orders', 99), lag('parcels', 3)], 4);
  // The last one that was started knows nothing yet; one that is dead does not count.
  await write(20, [], 0);
  await write(90_000, [lag('refunds', 1)], 60);

  const { clocks, lags } = await readFigures(database);

  expect(lags).toHaveLength(2);
  expect(lags).toEqual(expect.arrayContaining([lag('orders', 12), lag('parcels', 3)]));
  expect(clocks).toEqual([
    { host: 'host--40000', aheadMs: -40_000 },
    { host: 'host-1000', aheadMs: 1_000 },
    { host: 'host-20', aheadMs: 20 },
  ]);
  expect((await statusOf(database)).lags).toEqual(lags);
});
