// @module-tag alert-hook-called-once
import { setTimeout as delay } from 'node:timers/promises';
import { expect, inject, test } from 'vitest';
import { z } from 'zod';
import { startRelay } from '../../../src/app/relay/start-relay.ts';
import { setTrap } from '../../../src/core/crash-point.ts';
import { topic } from '../../../src/core/topic.ts';
import { send } from '../../../src/outbox/send.ts';
import { fromQuery } from '../../../src/store/database/transaction.ts';
import { readStandingGroups } from '../../../src/store/figures/own-figures.ts';
import { kafka } from '../../../src/transports.ts';
import type { Alert, OnAlert } from '../../../src/watch/on-alert.ts';
import { MortalDatabase, ProcessDied } from '../../support/faults/mortal-database.ts';
import { gate } from '../../support/fixtures/gate.ts';
import { quietTemporal } from '../../support/fixtures/stage.ts';
import { until } from '../../support/fixtures/until.ts';
import { createTopic, observer } from '../../support/kafka/kafka-topic.ts';
import { afterMs, forStalls, noteTo, noteTold, stalledStage, toldDatabase } from './stalled-stage.ts';

const brokers = inject('kafkaBrokers');

test.concurrent('a group that stands while messages wait is told once, and again only after it has moved and stalled anew', async (context) => {
  const on = await stalledStage(context);
  const seen: Alert[] = [];
  on.fill(0, 3);
  on.fill(1, 3);
  on.move(0, 1);
  on.move(1, 3);
  const from = Date.now();
  on.watch({ onAlert: noteTo(seen) });
  await until(async () => (await on.told()).length === 1, 30_000);
  const about = { rule: 'stalledGroup', of: { group: on.group, topic: on.address }, overAt: null };
  expect(seen).toMatchObject([{ ...about, subject: `group ${on.group} of ${on.address}` }]);
  expect(Date.now() - from).toBeGreaterThanOrEqual(afterMs);
  expect((seen[0]?.since.getTime() ?? 0) - from).toBeLessThanOrEqual(Date.now() - from - afterMs);
  // New messages, in this partition and another, are the same stall.
  on.fill(0);
  on.fill(1);
  await on.looksMore(3);
  expect(await on.told()).toHaveLength(1);

  // The one that stands longest moves last: until then it is the same stall.
  on.move(1, 4);
  on.move(0, 4);
  await until(() => on.events.some(({ type }) => type === 'alert-ended'), 30_000);
  on.fill(0);
  await until(async () => (await on.told()).length === 2, 30_000);
  expect(seen[1]).toMatchObject(about);
  expect(seen[1]?.since.getTime()).toBeGreaterThan(seen[0]?.since.getTime() ?? 0);
  const subject = `group ${on.group} of ${on.address}`;
  expect(on.events).toMatchObject([
    { type: 'alert-began', rule: 'stalledGroup', subject },
    { type: 'alert-ended', rule: 'stalledGroup', subject },
    { type: 'alert-began', rule: 'stalledGroup', subject },
  ]);
});

test.concurrent('a group that has nothing to read, and one that moves slowly, are not told', async (context) => {
  const on = await stalledStage(context);
  const idle = on.watch();
  on.fill(0, 5);
  on.move(0, 5);
  await on.looksMore(3);
  await idle.stop();
  on.fill(0, 10_000);
  // Far more than a move takes on a busy machine.
  const after = 2_000;
  const from = performance.now();
  on.watch({ after });
  for (let offset = 6; performance.now() - from < after * 2.5; offset += 1) {
    on.move(0, offset);
    await delay(20);
  }

  expect(await on.told()).toEqual([]);
  expect(on.events).toEqual([]);
});

test.concurrent('a group that has never committed is told if a topic expects its receipts', async (context) => {
  const on = await stalledStage(context);
  on.fill(1);
  on.watch({ expected: ['receiving'] });
  await until(async () => (await on.told()).length > 0, 30_000);
  await on.looksMore(4);

  expect(await on.told()).toEqual(['receiving']);
});

test.concurrent('relays that run at once tell of each stall once, and ask the broker as often as one does', async (context) => {
  const on = await stalledStage(context);
  on.fill(0, 3);
  on.move(0, 1);
  const [from, before] = [performance.now(), await on.looks()];
  // So many that they would ask too often even if each look took seconds.
  for (let n = 0; n < 16; n += 1) on.watch();
  await until(async () => (await on.told()).length > 0, 30_000);
  await on.looksMore(5);
  const looks = (await on.looks()) - before;
  const tookMs = performance.now() - from;
  await Promise.all(on.open.map((one) => one.stop()));

  expect(await on.told()).toEqual([on.group]);
  expect(on.events.filter(({ type }) => type === 'alert-began')).toHaveLength(1);
  expect(looks).toBeLessThanOrEqual(tookMs / ((afterMs / 4) * 0.9) + 1);
});

test.concurrent('a broker that answers more slowly than relays look is heard', async (context) => {
  const on = await stalledStage(context);
  on.fill(0, 3);
  on.move(0, 1);
  for (let n = 0; n < 5; n += 1) on.watch({ answerMs: 500 });
  await until(() => on.answers.reduce((sum, count) => sum + count, 0) >= 30, 60_000);

  expect(await on.told()).toEqual([on.group]);
});

test.concurrent('a look leaves alone what only another relay watches', async (context) => {
  const on = await stalledStage(context);
  on.fill(1);
  const first = on.watch({ expected: ['receiving'], after: 60_000 });
  const noted = async () =>
    on.database.query('select places from outbox.group_place where consumer_group = $1', ['receiving']);
  await until(async () => (await noted()).length > 0, 30_000);
  await first.stop();
  const before = await noted();
  on.watch();
  await until(() => (on.answers[1] ?? 0) >= 3, 30_000);

  expect(await noted()).toEqual(before);
});

test.concurrent('what is noted of a group at an address ends with the address', async (context) => {
  const on = await stalledStage(context);
  on.fill(0, 3);
  on.move(0, 1);
  on.watch({ after: 60_000 });
  const noted = () =>
    on.database.query('select places from outbox.group_place where consumer_group = $1', [on.group]);
  await until(async () => (await noted()).length === 1, 30_000);
  on.remove();
  await on.database.query(`update outbox.group_look set began_at = '-infinity'`);
  const next = on.watch();

  await until(async () => (await noted()).length === 0, 30_000);
  await next.stop();
});

test.concurrent('a group that stands is told although the clock was set back by an hour', {
  tags: ['set-back-clock-silences-nothing'],
}, async (context) => {
  const on = await stalledStage(context);
  on.fill(0, 3);
  on.move(0, 1);
  const first = on.watch({ after: 60_000 });
  const noted = () => on.database.query(`select from outbox.group_place where places <> '{}'`);
  await until(async () => (await noted()).length === 1, 30_000);
  await first.stop();
  await on.database.query(
    `update outbox.group_place set places = jsonb_set(places, '{0,sinceMs}', to_jsonb((places #>> '{0,sinceMs}')::float8 + 3600000))`,
  );
  await on.database.query(`update outbox.group_look set began_at = began_at + interval '1 hour'`);

  on.watch();

  await until(async () => (await on.told()).length > 0, 30_000).catch(() => undefined);
  expect(await on.told()).toEqual([on.group]);
});

test.concurrent('a group that stands goes on to stand in the figures, however long ago that was first seen', async (context) => {
  const on = await stalledStage(context);
  on.fill(0, 3);
  on.move(0, 1);
  on.watch();
  await until(async () => (await on.told()).length > 0, 30_000);
  await on.database.query(`update outbox.group_place set looked_at = looked_at - interval '1 hour'`);
  await on.looksMore(2);
  expect(await readStandingGroups(on.database)).toMatchObject([{ group: on.group }]);
});

test.concurrent('calls that are rejected rest for longer and longer, hold up no other, and the stall is told when one succeeds', async (context) => {
  const on = await stalledStage(context);
  on.fill(0, 3);
  on.move(0, 1);
  const calledAt: number[] = [];
  const other: string[] = [];
  const reject = forStalls(async (tx, alert) => {
    calledAt.push(performance.now());
    if (calledAt.length < 3) throw new Error('The mail server is away.');
    await noteTold(tx, alert);
  });
  on.watch({
    async onAlert(tx, alert) {
      if (alert.rule !== 'stalledGroup') other.push(alert.subject);
      await reject(tx, alert);
    },
  });
  await until(() => calledAt.length > 0, 30_000);
  await on.database.query(
    `insert into outbox.alert (rule, subject, labels, since, figure, text, next, news_at)
     values ('failed', 'topic other', '{"topic": "other"}', now(), 1, 'one failed', 'look', outbox.clock())`,
  );
  await until(async () => (await on.told()).length > 0, 60_000);

  const gaps = calledAt.slice(1).map((at, n) => at - (calledAt[n] ?? 0));
  for (const [n, leastMs] of [1_000, 2_000].entries()) expect(gaps[n]).toBeGreaterThan(leastMs - 10);
  expect([calledAt.length, await on.told()]).toEqual([3, [on.group]]);
  expect(other).toContain('topic other');
  expect(on.events).toContainEqual({
    type: 'alert-untold',
    destination: 'onAlert',
    failures: 1,
    retryInMs: 1_000,
    error: new Error('The mail server is away.'),
  });
});

// Not beside others: the trap is one for the process.
test('a relay that dies in the call has told nobody, and the next one tells once of the stall that began before', async (context) => {
  const on = await stalledStage(context);
  on.fill(0, 3);
  on.move(0, 1);
  const dying = new MortalDatabase(on.database);
  const died = gate();
  const since: Date[] = [];
  const noteSince: OnAlert = forStalls(async (tx, alert) => {
    since.push(alert.since);
    await noteTold(tx, alert);
  });
  const disarm = setTrap('relay:alert-called', () => {
    dying.kill();
    died.open();
    throw new ProcessDied('It died with the call done.');
  });
  const first = on.watch({ onAlert: noteSince, database: dying });
  await died.opened;
  await first.stop();
  disarm();
  expect(await on.told()).toEqual([]);

  on.watch({ onAlert: noteSince });
  await until(async () => (await on.told()).length > 0, 30_000);
  await on.looksMore(3);
  expect(await on.told()).toEqual([on.group]);
  expect(since).toEqual([since[0], since[0]]);
});

test('a relay calls onAlert of its configuration, and logs a line', async ({ onTestFinished }) => {
  quietTemporal();
  const made = await toldDatabase();
  onTestFinished(() => made.drop());
  const client = observer(brokers);
  const address = await createTopic(client, { numPartitions: 2 });
  const [admin, producer] = [client.admin(), client.producer()];
  await Promise.all([admin.connect(), producer.connect()]);
  await producer.send({
    topic: address,
    messages: ['x', 'x', 'x'].map((value) => ({ partition: 0, value })),
  });
  const partitions = [{ partition: 0, offset: '1' }];
  await admin.setOffsets({ groupId: 'java-billing', topic: address, partitions });
  await Promise.all([admin.disconnect(), producer.disconnect()]);
  const orders = topic('orders', z.string(), { address });
  const lines: string[] = [];
  const log = (facts: object, message?: string): void =>
    void lines.push(`${JSON.stringify(facts)} ${message}`);
  const relay = startRelay(
    {
      database: { url: made.url },
      temporal: { address: inject('temporalAddress') },
      topics: [orders],
      transports: { kafka: kafka({ servers: brokers }) },
      alerts: { stalledGroup: '1s', groups: ['java-billing'], interval: '100ms' },
      onAlert: noteTold,
    },
    { logger: { warn: log, error: log } },
  );
  onTestFinished(() => relay.stop());
  await relay.ready;
  await made.database.transaction((sql) =>
    send(
      fromQuery((text, values) => sql.query(text, values)),
      orders,
      'one',
    ),
  );
  await until(
    () => lines.some((line) => line.includes('group java-billing of orders has not moved for')),
    30_000,
  );
  await until(async () => (await made.told()).length > 0, 30_000);

  expect(await made.told()).toEqual(['java-billing']);
});
