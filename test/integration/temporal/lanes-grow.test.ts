import { expect, test } from 'vitest';
import { changeLanes } from '../../../src/operations/delivery/lanes.ts';
import { storeMessages } from '../../../src/store/message/write.ts';
import { openTransaction } from '../../support/fixtures/open-transaction.ts';
import { numbered, openStage, type Stage, type StageRelay } from '../../support/fixtures/stage.ts';
import { slowness, until } from '../../support/fixtures/until.ts';

const orders = numbered('orders');
/** After so long without one lane more none will come; a lane takes milliseconds. */
const standstillMs = 10_000;
/** A lane that lingers keeps what it occupies until long after the end of a test. */
const lingering = { laneIdleTimeoutMs: 60_000 };

/** Gives the topic of a relay that started with one lane so many, and has all of them drained at one time. */
async function drainSideBySide(stage: Stage, relay: StageRelay, lanes: number): Promise<void> {
  await storeMessages(stage.database, 'orders', [{ payload: '{"n":0}' }]);
  await until(async () => (await stage.arrived()) === 1, 60_000);
  expect(await changeLanes(stage.database, 'orders', lanes, { actor: 'test' })).toMatchObject({ done: true });

  const keys = await stage.database.query<{ key: string }>(
    `select min('k' || n) as key from generate_series(1, 2000) n group by outbox.lane_of('k' || n, null, $1)`,
    [lanes],
  );
  expect(keys.length).toBe(lanes);
  await storeMessages(
    stage.database,
    'orders',
    keys.map(({ key }) => ({ key, payload: '{"n":1}' })),
  );
  // At one time, not in turns: a lane that lingers keeps its slot. A busy machine starts them slowly, but goes on.
  let [most, grewAt] = [0, performance.now()];
  await until(async () => {
    const { length: owned } = await stage.database.query('select from outbox.lane where owner is not null');
    const drained = Math.min(owned, drainedByWorkflow(relay));
    if (drained > most) [most, grewAt] = [drained, performance.now()];
    return most === lanes || performance.now() - grewAt > standstillMs * slowness();
  });
  expect(most, 'lanes that are drained at one time').toBe(lanes);
}

/** Number of lanes that their workflows have drained here: a stand-in needs no slot of the worker. */
function drainedByWorkflow({ events }: StageRelay): number {
  return new Set(
    events.flatMap((event) => (event.type === 'lane-acquired' && !event.standIn ? [event.lane] : [])),
  ).size;
}

/** Statements that wait for a lock in the stage's database: each takes a connection. */
async function waiting(stage: Stage): Promise<number> {
  const rows = await stage.database.query(
    `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  );
  return rows.length;
}

test('a relay that started with one lane drains 40 concurrently once they exist, each over its own connection', {
  tags: ['added-lanes-drained'],
}, async (context) => {
  const stage = await openStage(context, { topics: [orders] });
  const relay = await stage.relay({ timings: lingering });
  await drainSideBySide(stage, relay, 40);
  await until(async () => (await stage.arrived()) === 41, 60_000);

  // A claim that waits keeps its connection, so the others need their own.
  const blocker = await openTransaction(stage.url);
  await blocker.query('lock table outbox.message in access exclusive mode');
  let most = 0;
  await until(async () => (most = Math.max(most, await waiting(stage))) >= 40).catch(() => undefined);
  await blocker.rollback();
  expect(most, 'statements that wait side by side').toBeGreaterThanOrEqual(40);
});

test('a relay with a set number of connections opens no more for added lanes', {
  tags: ['added-lanes-drained'],
}, async (context) => {
  const stage = await openStage(context, { topics: [orders] });
  const url = new URL(stage.url);
  url.searchParams.set('application_name', 'told');
  const relay = await stage.relay({
    timings: lingering,
    database: { url: url.href, connections: 3 },
  });
  await drainSideBySide(stage, relay, 12);
  await until(async () => (await stage.arrived()) === 13, 60_000);

  // Connections stay for ten seconds after their last use. The session of the relay has a name of its own.
  const told = await stage.database.query(
    `select from pg_stat_activity where application_name = 'told' and datname = current_database()`,
  );
  expect(told).toHaveLength(3);
});
