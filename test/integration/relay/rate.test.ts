import { expect, type TestContext, test } from 'vitest';
import { z } from 'zod';
import { policyOf } from '../../../src/app/relay/topic-policy.ts';
import { type TopicOptions, topic } from '../../../src/core/topic.ts';
import { announceTopics } from '../../../src/operations/announce.ts';
import { pause } from '../../../src/operations/delivery/pause.ts';
import { statusOf } from '../../../src/operations/delivery/status.ts';
import { showMessage } from '../../../src/operations/messages/show.ts';
import { takeRate } from '../../../src/store/lane/rate.ts';
import { type LaneFixture, laneFixture } from '../../support/fixtures/lane-fixture.ts';
import { startTestRelay, type TestRelay } from '../../support/fixtures/test-relay.ts';
import { until } from '../../support/fixtures/until.ts';

async function fixtureOf(context: TestContext, options: TopicOptions): Promise<LaneFixture> {
  const fixture = await laneFixture(options);
  context.onTestFinished(() => fixture.drop());
  return fixture;
}

async function relayOf(context: TestContext, fixture: LaneFixture): Promise<TestRelay> {
  const relay = await startTestRelay(fixture);
  context.onTestFinished(() => relay.stop());
  return relay;
}

const announceRate = (fixture: LaneFixture, rate: TopicOptions['rate']): Promise<unknown> =>
  announceTopics(
    fixture.database,
    [policyOf(topic('orders', z.unknown(), rate === undefined ? {} : { rate }), 'scripted')],
    {},
  );

/** One in an hour: after the first message the topic waits. */
const hourly = { messages: 1, per: '1h' } as const;

test('two relays with four lanes together keep to the rate of a topic, in the order of its keys', {
  tags: ['rate-kept'],
}, async (context) => {
  const fixture = await fixtureOf(context, { lanes: 4, rate: { messages: 20, per: '1s' } });
  const labels = Array.from({ length: 80 }, (_, n) => ({ label: `k${n % 10} ${n}`, key: `k${n % 10}` }));
  for (const { label, key } of labels) await fixture.send(label, { key });

  await relayOf(context, fixture);
  const second = await relayOf(context, fixture);
  await until(() => fixture.broker.log.length >= labels.length, 30_000);
  await second.stop();

  const { log } = fixture.broker;
  expect(fixture.broker.labels.toSorted()).toEqual(labels.map(({ label }) => label).toSorted());
  for (const key of new Set(labels.map((one) => one.key)))
    expect(fixture.broker.labels.filter((label) => label.startsWith(`${key} `))).toEqual(
      labels.flatMap((one) => (one.key === key ? [one.label] : [])),
    );
  const times = log.map(({ storedAt }) => storedAt).toSorted((a, b) => a - b);
  // 80 messages do not fit in three seconds; half a second for what the first batch needs between its grant and the broker.
  expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan(2_500);
  // The promise: 20 in a second, and one batch of each lane that was on its way, which is its share of 5.
  const inSecondFrom = (from: number): number => times.filter((at) => at >= from && at < from + 1_000).length;
  expect(Math.max(...times.map(inSecondFrom))).toBeLessThanOrEqual(40);
  expect(Math.max(...fixture.broker.batches.map((batch) => batch.length))).toBe(5);
});

test('a message that waits for the rate spends no attempt and is on no hold, and status and why say what it waits for', {
  tags: ['rate-kept'],
}, async (context) => {
  const fixture = await fixtureOf(context, { rate: hourly });
  await fixture.send('A');
  await fixture.send('B');
  const { events } = await relayOf(context, fixture);
  await until(() => fixture.broker.labels.length > 0);

  await expect
    .poll(async () => (await statusOf(fixture.database)).lanes)
    .toMatchObject([{ ready: 1, hold: null, owned: true, rateWaitMs: expect.closeTo(3_570_000, -5) }]);
  expect((await statusOf(fixture.database)).topics).toMatchObject([
    { rate: { messages: 1, perMs: 3_600_000, of: 'topic' } },
  ]);
  expect(await showMessage(fixture.database, fixture.idOf('B'))).toMatchObject({
    why: {
      code: 'rate',
      text: expect.stringMatching(/the rate of the topic "orders", 1 per 1 h 0 min: the next .* in \d/),
    },
  });
  expect(await fixture.row('B')).toMatchObject({ state: 'ready', attempts: 0 });
  expect(fixture.broker.labels).toEqual(['A']);
  expect(events.filter(({ type }) => type === 'hold-began' || type === 'error')).toEqual([]);
});

test('what expires behind a message that waits for the rate ends at once', {
  tags: ['expired-not-sent'],
}, async (context) => {
  const fixture = await fixtureOf(context, { rate: hourly });
  await fixture.send('A');
  await fixture.drain();
  await fixture.send('B');
  await fixture.send('C', { expiresAfterMs: 200 });
  await fixture.send('D');
  const { events } = await relayOf(context, fixture);

  await expect
    .poll(() => fixture.states('B', 'C', 'D'), { timeout: 30_000 })
    .toEqual(['ready', 'expired', 'ready']);
  await until(() => events.some(({ type }) => type === 'expired'));
  expect(fixture.broker.labels).toEqual(['A']);
});

test('a lane that waits for the rate frees itself at a pause, and stops at once', {
  tags: ['rate-kept'],
}, async (context) => {
  const fixture = await fixtureOf(context, { rate: hourly });
  await fixture.send('A');
  await fixture.send('B');
  const first = await relayOf(context, fixture);
  await until(() => fixture.broker.labels.length > 0);

  const pausedFrom = performance.now();
  expect(await pause(fixture.database, { topic: 'orders' }, { actor: 'ada' })).toMatchObject({
    complete: true,
  });
  expect(performance.now() - pausedFrom).toBeLessThan(8_000);
  await fixture.database.query('update outbox.topic set paused = false');
  await until(async () => (await fixture.laneRow()).live);

  const stoppedFrom = performance.now();
  await first.stop();
  expect(performance.now() - stoppedFrom).toBeLessThan(8_000);
  expect(await fixture.laneRow()).toMatchObject({ owner: null });
  expect(fixture.broker.labels).toEqual(['A']);
});

test('relays that run follow a rate that is announced later, and one that is taken away', {
  tags: ['rate-kept'],
}, async (context) => {
  const fixture = await fixtureOf(context, {});
  await relayOf(context, fixture);
  await fixture.send('free');
  await until(() => fixture.broker.labels.length === 1);

  await announceRate(fixture, hourly);
  for (const label of ['A', 'B', 'C']) await fixture.send(label);
  await expect.poll(async () => (await statusOf(fixture.database)).lanes[0]?.rateWaitMs).toBeGreaterThan(0);
  expect(fixture.broker.labels).toEqual(['free', 'A']);

  await announceRate(fixture, undefined);
  // Not only when its lease has lapsed, after ten seconds.
  await expect.poll(() => fixture.broker.labels, { timeout: 7_500 }).toEqual(['free', 'A', 'B', 'C']);
});

test('what is blocked needs no rate, and every try of a message counts', {
  tags: ['rate-kept'],
}, async (context) => {
  const fixture = await fixtureOf(context, { rate: { messages: 4, per: '1h' }, retry: ['1h'] });
  fixture.broker.judge = (message) => (message.payload.includes('A') ? 'reject' : 'store');
  await fixture.send('A1', { key: 'a' });
  await fixture.drain();
  await fixture.send('A2', { key: 'a' });
  await fixture.send('B', { key: 'b' });
  await fixture.drain();
  await fixture.send('C', { key: 'c' });
  await fixture.drain();

  expect(fixture.broker.labels).toEqual(['B', 'C']);
  expect(await fixture.states('A1', 'A2', 'B', 'C')).toEqual([
    'retrying',
    'blocked',
    'published',
    'published',
  ]);
  // The try of A1, B and C were three of four.
  expect(await takeRate(fixture.database, 'orders', 2)).toMatchObject({ granted: 1 });
});

test('of messages that commit late the rate lets go one after the other, each once', {
  tags: ['rate-kept'],
}, async (context) => {
  const fixture = await fixtureOf(context, { rate: { messages: 1, per: '100ms' } });
  const open = await fixture.begin();
  for (const label of ['late 1', 'late 2']) await fixture.send(label, {}, open);
  await fixture.send('A');
  await fixture.drain();
  await open.commit();
  await fixture.drain();

  expect(fixture.broker.labels).toEqual(['A', 'late 1', 'late 2']);
});
