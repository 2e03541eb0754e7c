import { expect, test } from 'vitest';
import { readFigures } from '../../../src/store/figures/read-figures.ts';
import { laneFixture } from '../../support/fixtures/lane-fixture.ts';

test('figures say of each topic how late it is and why, and of one without a relay that nobody delivers it', {
  tags: ['alerts-told-once'],
  timeout: 120_000,
}, async ({ onTestFinished }) => {
  const lanes = await laneFixture();
  onTestFinished(() => lanes.drop());
  await lanes.send('late');
  await lanes.database.query(
    `insert into outbox.topic select (t).* from (select jsonb_populate_record(t, '{"name": "quiet"}') as t from outbox.topic t) x`,
  );
  await lanes.database.query(`insert into outbox.lane (topic, n) values ('quiet', 0)`);
  await lanes.database.query(
    `insert into outbox.message (id, topic, lane, position, xid, payload, state, created_at, updated_at)
     values (gen_random_uuid(), 'nobody', 0, nextval('outbox.message_position'), pg_current_xact_id(), '{}', 'ready',
       outbox.clock() - interval '20 minutes', outbox.clock())`,
  );
  const held = { scope: 'topic', reason: 'no leader', since: new Date().toISOString() };
  await lanes.database.query(`update outbox.lane set hold = $1::jsonb where topic = 'orders'`, [
    JSON.stringify(held),
  ]);
  const { due } = await readFigures(lanes.database);
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

  await lanes.database.query(
    `update outbox.message set created_at = created_at - interval '1 minute' where topic = 'orders'`,
  );
  const other = await lanes.begin();
  await other.query(`select from outbox.lane where topic = 'orders' for update`);
  await expect
    .poll(
      async () => (await readFigures(lanes.database)).due.find(({ topic }) => topic === 'orders')?.reason,
      {
        timeout: 60_000,
      },
    )
    .toMatch(/^lane 0 is locked by pid \d+/);
  await other.rollback();
});
