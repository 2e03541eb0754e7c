import { afterEach, expect, test } from 'vitest';
import { wantedLanes } from '../../../src/store/lane/starts.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import { startTestRelay, type TestRelay } from '../../support/fixtures/test-relay.ts';
import { until } from '../../support/fixtures/until.ts';

let fixture: LaneFixture;
const relays: TestRelay[] = [];
eachLane((made) => (fixture = made));
afterEach(async () => {
  for (const relay of relays.splice(0)) await relay.stop();
});

async function start(
  ...options: Parameters<typeof startTestRelay> extends [unknown, ...infer Rest] ? Rest : never
) {
  const relay = await startTestRelay(fixture, ...options);
  relays.push(relay);
  return relay;
}

const arrived = (label: string) => (): boolean => fixture.broker.labels.includes(label);
/** By whom the lane was drained so far, in order. */
const drainedBy = ({ events }: TestRelay): readonly ('stand-in' | 'workflow')[] =>
  events.flatMap((event) =>
    event.type === 'lane-acquired' ? [event.standIn ? ('stand-in' as const) : ('workflow' as const)] : [],
  );
const lingering = { laneIdleTimeoutMs: 60_000 };

test('a lane whose workflow does not come is drained by the relay that asked for it', {
  tags: ['every-relay-delivers'],
}, async () => {
  const relay = await start({ running: false, timings: lingering });
  await fixture.send('A');

  await until(arrived('A'));
  const arrivedAt = performance.now();
  // Letting go of the lane costs a pause each time.
  for (let n = 0; performance.now() - arrivedAt < 1_000; n += 1) {
    await fixture.send(`B${n}`);
    await until(arrived(`B${n}`));
  }

  expect(relay.workflows.laneStarts).toHaveLength(1);
  expect(drainedBy(relay)).toEqual(['stand-in']);
  expect(relay.events.filter(({ type }) => type === 'temporal-away')).toEqual([]);
});

test('a lane that its workflow drains has no stand-in', async () => {
  // Longer than a stand-in waits for the workflow.
  const relay = await start({ timings: { laneIdleTimeoutMs: 1_000 } });
  await fixture.send('A');
  await until(() => relay.events.some((event) => event.type === 'lane-freed' && event.quiet));

  expect(drainedBy(relay)).toEqual(['workflow']);
});

test('a relay without a workflow engine drains existing messages and is supervised later', async () => {
  await fixture.send('before');
  const relay = await start({ supervised: false, timings: lingering });
  await relay.relay.begun();
  // It has sent the first batch by then.
  expect(fixture.broker.labels).toEqual(['before']);

  relay.relay.supervise(relay.workflows);
  await until(() => drainedBy(relay).includes('workflow'));
  await fixture.send('after');
  await until(arrived('after'));

  expect(drainedBy(relay)).toEqual(['stand-in', 'workflow']);
  expect(relay.events.filter(({ type }) => type === 'lane-lost')).toEqual([]);
});

test('an engine that does not answer delays one message by a second and is asked by one request at a time', {
  tags: ['every-relay-delivers'],
}, async () => {
  let open = 0;
  let most = 0;
  const relay = await start({ timings: { laneIdleTimeoutMs: 50 } });
  const silent = new AbortController();
  relay.workflows.gate = async () => {
    open += 1;
    most = Math.max(most, open);
    await new Promise<void>((resolve) => silent.signal.addEventListener('abort', () => resolve()));
    open -= 1;
  };
  for (const label of ['A', 'B', 'C']) {
    await fixture.send(label);
    await until(arrived(label));
    await until(() => relay.events.at(-1)?.type === 'lane-freed');
  }
  silent.abort();
  expect([most, relay.workflows.laneStarts.length]).toEqual([1, 1]);
  expect(drainedBy(relay)).toEqual(['stand-in', 'stand-in', 'stand-in']);
});

test('a stand-in frees its lane for a workflow in another process', {
  tags: ['every-relay-delivers'],
}, async () => {
  const relay = await start({ running: false, timings: lingering });
  await fixture.send('A');
  await until(arrived('A'));
  const other = await start({ supervised: false, timings: lingering });
  const stop = new AbortController();
  const drained = other.relay.drain(fixture.lane, stop.signal, () => undefined);

  // A relay looks for the lane's workflow again after five seconds.
  await until(() => drainedBy(other).includes('workflow'), 60_000);
  await fixture.send('B');
  await until(arrived('B'));

  expect(relay.events.filter(({ type }) => type === 'lane-lost')).toEqual([]);
  expect(fixture.broker.labels).toEqual(['A', 'B']);
  stop.abort();
  await drained;
});

test('a stand-in that ends while messages arrive is followed by the next one at once', async () => {
  const relay = await start({ supervised: false, timings: { ...lingering, drainTimeoutMs: 300 } });
  for (let n = 0; n < 40; n += 1) {
    await fixture.send(`m-${n}`);
    await until(arrived(`m-${n}`));
  }
  expect(fixture.broker.labels).toHaveLength(40);
  expect(relay.events.filter(({ type }) => type === 'error')).toEqual([]);
  // The lane is quick to be taken again: a full check, once a second, would be noticed by far fewer.
  await until(() => drainedBy(relay).length > 3);
});

test('a stop ends a stand-in: the batch in hand is settled and the lane is free', async () => {
  const relay = await start({ supervised: false, timings: lingering });
  await fixture.send('A');
  await until(arrived('A'));

  await relay.relay.stop();

  expect(relay.events.map(({ type }) => type)).toContain('lane-freed');
  expect(await fixture.states('A')).toEqual(['published']);
  expect(await fixture.laneRow()).toMatchObject({ owner: null });
});

test('a workflow stays wanted while a stand-in drains in its place and is replaced after a minute', async () => {
  const relay = await start({ running: false });
  await fixture.send('A');
  await until(() => relay.events.some((event) => event.type === 'lane-freed' && event.quiet));
  await relay.stop();
  relays.pop();
  await fixture.send('B');
  await fixture.database.query(
    `update outbox.lane set started_at = null, wanted_since = wanted_since - interval '61 s'`,
  );

  expect(await wantedLanes(fixture.database, ['orders'])).toMatchObject([{ replace: true }]);
});
