import { afterEach, beforeEach, expect, test } from 'vitest';
import { LaneDrains } from '../../../src/relay/lane-drains.ts';
import { claimSql } from '../../../src/store/lane/claim.ts';
import { look } from '../../../src/store/lane/watch.ts';
import { storeMessages } from '../../../src/store/message/write.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import { until } from '../../support/fixtures/until.ts';

// A lane that is drained here claims only what wakes it: neither its own checks nor its end come in time.
const never = 3_600_000;

let fixture: LaneFixture;
let drains: LaneDrains;
let stop: AbortController;
let running: Promise<unknown>;
let claims: number;
let answered: number;
let looked: string;

eachLane((made) => (fixture = made));
beforeEach(async () => {
  drains = new LaneDrains(() => undefined);
  stop = new AbortController();
  claims = 0;
  answered = 0;
  ({ snapshot: looked } = await look(fixture.database, null));
  const { timings, ...input } = fixture.drainInput();
  running = drains.run(fixture.lane, {
    ...input,
    timings: { ...timings, laneIdleTimeoutMs: never, checkIntervalMs: never },
    signal: stop.signal,
    database: {
      ...fixture.database,
      query: async (text, values) => {
        if (text === claimSql) claims += 1;
        const rows = await fixture.database.query(text, values);
        if (text === claimSql) answered += 1;
        return rows as never;
      },
    },
  });
  // The first claim finds nothing.
  await until(() => answered === 1);
});
afterEach(async () => {
  stop.abort();
  await running;
});

const sent = (...labels: readonly string[]) =>
  until(() => labels.every((label) => fixture.broker.labels.includes(label)));
const settled = (batches: number) =>
  until(() => fixture.events.filter(({ type }) => type === 'batch-settled').length === batches);

/** Looks once, as the watcher of a relay does, and wakes the lane. */
async function lookAndWake(): Promise<void> {
  const { news, snapshot } = await look(fixture.database, looked);
  looked = snapshot;
  for (const lane of news) drains.wake(lane, lane.xids);
  // A claim would have begun by now.
  await fixture.database.query('select');
}

test('a look that finds only commits named by a nudge wakes no lane', async () => {
  await fixture.send('a1');
  drains.wake(fixture.lane);
  await settled(1);
  const before = claims;

  await lookAndWake();
  expect(claims).toBe(before);

  await fixture.send('a2');
  await lookAndWake();
  await sent('a2');
});

test('a look that finds a late commit wakes the lane', async () => {
  const late = await fixture.begin();
  await storeMessages(late, fixture.topic, [{ payload: '"late"' }]);
  await fixture.send('a1');
  drains.wake(fixture.lane);
  await settled(1);
  const before = claims;

  await late.commit();
  await lookAndWake();

  expect(claims).toBe(before + 1);
  await sent('late');
});

test('a look that finds more than it names wakes the lane', async () => {
  await storeMessages(
    fixture.database,
    fixture.topic,
    Array.from({ length: 101 }, (_, n) => ({ payload: `"b${n}"` })),
  );
  const { news } = await look(fixture.database, looked);
  expect(news).toMatchObject([{ ...fixture.lane, ready: true, xids: null }]);
  await lookAndWake();
  await sent('b0', 'b100');
});
