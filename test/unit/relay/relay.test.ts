import { afterEach, beforeEach, expect, test } from 'vitest';
import { Relay, type RelayInput } from '../../../src/relay/relay.ts';
import { byNow, fakeTime, pass, realTime, soFar } from '../../support/fixtures/fake-time.ts';
import { asked, rowOf, scriptedDrain } from '../../support/fixtures/scripted-drain.ts';

beforeEach(fakeTime);
afterEach(realTime);

const look = 'from outbox.look(';
const lanes = 'from outbox.want_lanes(';
const release = 'from outbox.release_due(';
const outcomes = 'from outbox.message_view where id = any';
const lane = { topic: 'orders', lane: 3 };
const quiet = [
  'from outbox.untold_messages(',
  'from outbox.bulk_operation',
  'from outbox.walk_blocked(',
  'from pg_locks k left join pg_stat_activity',
];

function stage(overrides: Partial<RelayInput> = {}) {
  const drain = scriptedDrain({ timer: 'lane' });
  const { database, input } = drain;
  for (const part of quiet) database.on(part, []);
  database
    .on(lanes, [])
    .on(look, [{ snapshot: '9:9:', incarnation: '1', next: 'n', nextDueInMs: null, topic: null }]);
  const draining: number[] = [];
  const relay = new Relay({
    database,
    installation: 'i-1',
    routes: [
      input.route,
      { ...input.route, name: 'bills', rules: { ...input.route.rules, timer: 'workflow' } },
    ],
    timings: { ...input.timings, laneIdleTimeoutMs: 100 },
    limits: { messages: 7, bytes: 1_000 },
    report: input.report,
    draining: (count) => draining.push(count),
    ...overrides,
  });
  return { ...drain, relay, draining };
}

test('a lane is drained as the relay is configured, by its session, and counted', async () => {
  const { relay, database, broker, claims, draining } = stage();
  await byNow(relay.open());
  claims.push({ messages: [rowOf(1)] });
  let inHand = 0;
  broker.before = () => void (inHand = relay.inHand);
  let progress = 0;
  const answer = soFar(relay.drain(lane, new AbortController().signal, () => (progress += 1)));
  await pass(0);
  expect(broker.log[0]?.headers['ce_source']).toBe('/outbox/i-1');
  expect(database.valuesOf(asked.acquire)[0]?.slice(4)).toEqual(['7', false]);
  expect(database.valuesOf(asked.claim)[0]?.slice(0, 3)).toEqual(['orders', 3, 7]);
  expect(inHand).toBe(1);
  expect(relay.inHand).toBe(0);
  expect(progress).toBeGreaterThan(0);
  await pass(100);
  expect(answer.value).toBe('quiet');
  expect(draining).toEqual([1, 0]);
  await byNow(relay.close());
  expect(database.sessionStopped).toBe(true);
});

test('a relay has the topics of its configuration and drains no other', async () => {
  const { relay } = stage();
  expect([relay.knows('orders'), relay.knows('bills'), relay.knows('others')]).toEqual([true, true, false]);
  await expect(
    relay.drain({ topic: 'others', lane: 0 }, new AbortController().signal, () => undefined),
  ).rejects.toThrow(`The topic "others" is not in this relay's configuration.`);
});

test('without an engine a stand-in drains a lane with work, and the start awaits its first batch', async () => {
  const { relay, database, broker, claims, events } = stage();
  database.on(lanes, ([, orphans]) =>
    orphans === true ? [] : [{ ...lane, workflowId: 'w', replace: false }],
  );
  claims.push({ messages: [rowOf(1)] });
  broker.before = () => new Promise((resolve) => setTimeout(resolve, 50));
  const begun = soFar(relay.begun());
  await pass(49);
  expect(begun.state).toBe('open');
  await pass(1);
  expect(begun.state).toBe('resolved');
  expect(events[0]).toMatchObject({ type: 'lane-acquired', standIn: true });
  expect(database.valuesOf(asked.acquire)[0]?.[5]).toBe(true);
  expect(database.valuesOf(lanes).map(([topics]) => topics)).toEqual([
    ['orders', 'bills'],
    ['orders', 'bills'],
  ]);
});

test('a stop waits for the work on receipts', async () => {
  const overdue = 'from unnest($1::text[], $2::timestamptz[]) t(topic, begins)';
  const confirm = { group: 'g', maxSends: 1, receiptTimeoutMs: [1] };
  const offsets = { passed: async () => undefined };
  const topic = { name: 'orders', address: 'a', transport: 'kafka', visible: true, confirm, offsets };
  const { relay, database } = stage({ confirming: [topic] });
  database.on(overdue, async () => {
    await new Promise((resolve) => setTimeout(resolve, 100));
    return [];
  });
  relay.start();
  await pass(0);
  expect(database.valuesOf(overdue)).toEqual([[['orders'], [null]]]);
  const stopped = soFar(relay.stop());
  await pass(99);
  expect(stopped.state).toBe('open');
  await pass(1);
  expect(stopped.state).toBe('resolved');
});

test('a release makes the message ready, wakes its lane and waits for the outcome, at most a second', async () => {
  const { relay, database } = stage();
  const row = (state: string) => ({ id: 'a', state, dueInMs: null, partition: 1, offset: '7' });
  void relay.drain(lane, new AbortController().signal, () => undefined);
  await pass(0);
  const claims = database.valuesOf(asked.claim).length;
  database.on(release, [{ lanes: 'orders/3' }]).on(outcomes, [row('ready')]);
  const answer = soFar(relay.release('a'));
  await pass(0);
  expect(database.valuesOf(asked.claim)).toHaveLength(claims + 1);
  await pass(24);
  expect(database.valuesOf(outcomes)).toHaveLength(1);
  database.on(outcomes, [row('published')]);
  await pass(1);
  expect(answer.value).toEqual({ kind: 'done', state: 'published', partition: 1, offset: '7' });
  expect(database.valuesOf(release)).toEqual([[['a']]]);

  const slow = stage();
  slow.database.on(release, []).on(outcomes, [row('ready')]);
  const late = soFar(slow.relay.release('a'));
  await pass(999);
  expect(late.state).toBe('open');
  await pass(1);
  expect(late.value).toEqual({ kind: 'ready' });
  expect(slow.database.valuesOf(outcomes)).toHaveLength(41);
});

test('every look is wrapped', async () => {
  let looks = 0;
  const looking = (round: Promise<number>) => {
    looks += 1;
    return round;
  };
  const { relay, database } = stage({ looking });
  relay.start();
  await pass(50);
  expect(looks).toBe(database.valuesOf(look).length);
  await byNow(relay.stop());
});

test('concurrent releases share a statement', async () => {
  const { relay, database } = stage();
  database.on(release, []);
  database.on(outcomes, ([ids]) =>
    (ids as string[]).map((id) => ({ id, state: 'canceled', partition: null, offset: null })),
  );
  const answers = ['a', 'b', 'c'].map((id) => soFar(relay.release(id)));
  await pass(0);
  expect(database.valuesOf(release)).toEqual([[['a']], [['b', 'c']]]);
  expect(answers.map(({ value }) => value?.kind)).toEqual(['done', 'done', 'done']);
});
