import { afterEach, expect, test } from 'vitest';
import type { Database } from '../../../src/store/database/database.ts';
import { wantedLanes } from '../../../src/store/lane/starts.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import { startTestRelay, type TestRelay } from '../../support/fixtures/test-relay.ts';
import { until } from '../../support/fixtures/until.ts';
import { labelOf } from '../../support/kafka/scripted-broker.ts';

let fixture: LaneFixture;
let relay: TestRelay | undefined;
eachLane((made) => (fixture = made));
afterEach(async () => {
  await relay?.stop();
  relay = undefined;
});

/** Takes away the pause of a second between starts of one lane. */
const forgetStarts = () => fixture.database.query(`update outbox.lane set started_at = null`);
const wanted = async (): Promise<number> => {
  await forgetStarts();
  return (await wantedLanes(fixture.database, ['orders'])).length;
};

test('messages that cannot be sent do not restart their lane: retrying, blocked, waiting, paused', async () => {
  fixture.broker.judge = (message) => (labelOf(message) === 'K1' ? 'reject' : 'store');
  await fixture.send('waits', { afterMs: 3_600_000 });
  expect(await wanted()).toBe(0);
  await fixture.send('K1', { key: 'K' });
  expect(await wanted()).toBe(1);
  await fixture.drain();
  expect(await wanted()).toBe(0);
  await fixture.send('K2', { key: 'K' });
  // It is ready, and only a claim can tell that it is blocked: one drain, then none.
  expect(await wanted()).toBe(1);
  await fixture.drain();
  expect(await wanted()).toBe(0);
  await fixture.database.query(`update outbox.topic set paused = true`);
  await fixture.send('other');
  expect(await wanted()).toBe(0);
  await fixture.database.query(`update outbox.topic set paused = false`);
  expect(await wanted()).toBe(1);
});

test('a lane is wanted when its blocked messages are free, and when rows committed late', async () => {
  fixture.broker.judge = (message) => (labelOf(message) === 'K1' ? 'reject' : 'store');
  await fixture.send('K1', { key: 'K' });
  await fixture.send('K2', { key: 'K' });
  await fixture.drain();
  expect(await wanted()).toBe(0);
  await fixture.cancel('K1');
  expect(await wanted()).toBe(1);
  await fixture.drain();
  expect(await wanted()).toBe(0);

  const late = await fixture.begin();
  await fixture.send('late', {}, late);
  await fixture.send('early');
  await fixture.drain();
  expect(await wanted()).toBe(0);
  await late.commit();
  expect(await wanted()).toBe(1);
});

test('a lane is wanted a little before its message is due, so that it runs by then', async () => {
  await fixture.send('later', { afterMs: 60_000 });
  expect(await wanted()).toBe(0);
  await fixture.send('soon', { afterMs: 2_000 });
  expect(await wanted()).toBe(1);
});

test('a lane with a live owner is not started, one whose owner died is', async () => {
  await fixture.send('A');
  await fixture.database.query(
    `update outbox.lane set owner = gen_random_uuid(), alive_until = clock_timestamp() + interval '10 seconds', incarnation = outbox.incarnation()`,
  );
  expect(await wanted()).toBe(0);
  await fixture.lapse();
  expect(await wanted()).toBe(1);
});

test('a lane is started at most once a second, and replaced when starts have not helped for a minute', async () => {
  await fixture.send('A');
  expect(await wantedLanes(fixture.database, ['orders'])).toMatchObject([
    { topic: 'orders', lane: 0, replace: false },
  ]);
  // However slow this machine is, the second is not over.
  await fixture.database.query(`update outbox.lane set started_at = started_at + interval '15 s'`);
  expect(await wantedLanes(fixture.database, ['orders'])).toEqual([]);
  await fixture.database.query(`update outbox.lane set started_at = started_at - interval '16 s'`);
  expect(await wantedLanes(fixture.database, ['orders'])).toMatchObject([{ replace: false }]);
  await fixture.database.query(
    `update outbox.lane set started_at = started_at - interval '1 s', wanted_since = wanted_since - interval '61 s'`,
  );
  expect(await wantedLanes(fixture.database, ['orders'])).toMatchObject([{ replace: true }]);
  await fixture.drain();
  const [lane] = await fixture.database.query(`select wanted_since from outbox.lane`);
  expect(lane).toEqual({ wanted_since: null });
});

test('a relay other than the one that drains a lane asks for its start a few times a second, however many messages arrive', async () => {
  relay = await startTestRelay(fixture, { timings: { laneIdleTimeoutMs: 60_000 } });
  await fixture.send('first');
  await until(() => fixture.broker.labels.length === 1);
  let looks = 0;
  let searches = 0;
  const counting: Database = {
    ...fixture.database,
    query: (text, values) => {
      if (text.includes('outbox.look(')) looks += 1;
      if (text.includes('wanted as materialized') && values?.[2] === false) searches += 1;
      return fixture.database.query(text, values);
    },
  };
  const beside = await startTestRelay(fixture, { database: counting, running: false });
  try {
    const startedAt = performance.now();
    for (let n = 0; n < 40; n += 1) {
      await fixture.send(`more-${n}`);
      await until(() => fixture.broker.labels.length === n + 2);
      const before = looks;
      await until(() => looks > before + 1);
    }
    const seconds = (performance.now() - startedAt) / 1_000;
    // Four a second because of news, one because of the full check.
    expect(searches).toBeLessThanOrEqual(5 * seconds + 5);
  } finally {
    await beside.stop();
  }
});

test('a waiting message gets its workflow once, again when it moves, and never beyond the horizon', async () => {
  relay = await startTestRelay(fixture, { running: false });
  await fixture.send('soon', { afterMs: 60_000 });
  await fixture.send('far', { afterMs: 30 * 86_400_000 });
  const starts = () => relay?.workflows.messageStarts ?? [];
  await until(() => starts().length === 1);
  expect(starts()[0]).toMatchObject({ id: fixture.idOf('soon'), replace: false });
  // Before that is recorded, nobody can tell that the workflow would sleep too long.
  await until(async () => {
    const [row] = await fixture.database.query(
      'select from outbox.message where id = $1 and workflow_due_at is not null',
      [fixture.idOf('soon')],
    );
    return row !== undefined;
  });

  await fixture.database.query(`select outbox.reschedule('orders', id => $1, after => interval '10 s')`, [
    fixture.idOf('soon'),
  ]);
  await until(() => starts().length === 2);
  expect(starts()[1]).toMatchObject({ id: fixture.idOf('soon'), replace: true });
  expect(starts()[1]?.dueInMs).toBeLessThanOrEqual(10_000);
});
