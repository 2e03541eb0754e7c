import { setTimeout as delay } from 'node:timers/promises';
import { expect, inject, type TestContext, test } from 'vitest';
import { consumer } from '../../../src/app/consumer/consumer.ts';
import { refusingServer } from '../../support/faults/refusing-server.ts';
import { awake } from '../../support/fixtures/awake.ts';
import { ownDatabase } from '../../support/fixtures/database.ts';
import { configOf, InboxStage } from '../../support/fixtures/inbox-stage.ts';
import { untilLockWaits } from '../../support/fixtures/lock-waits.ts';
import { openTransaction } from '../../support/fixtures/open-transaction.ts';
import { openPrisma } from '../../support/fixtures/prisma.ts';
import { numbered } from '../../support/fixtures/stage.ts';
import { untilFailing, untilProgress, untilWell } from '../../support/fixtures/told-health.ts';

test('the health of a consumer shows its start, its progress, stuck partitions and its stop', async (context) => {
  const stage = await InboxStage.create(1);
  context.onTestFinished(() => stage.end());
  let broken = true;
  const orders = consumer(stage.prisma, {
    config: stage.config,
    group: stage.group,
    logger: false,
    breaker: { keys: 1 },
  }).on(stage.topic, async (_tx, { payload }) => {
    if (payload.n > 1 && broken) throw new Error('the bank is closed');
  });
  expect(orders.health()).toEqual({ state: 'stopped', joined: false, lastProgressAt: null, failing: [] });
  await orders.stop();
  const starting = orders.start();
  expect(orders.health()).toMatchObject({ state: 'starting', joined: false });
  const running = await starting;
  let done = false;
  void running.done.then(() => (done = true));
  expect(running.health()).toEqual({ state: 'running', joined: true, lastProgressAt: null, failing: [] });

  await stage.publish([{ n: 1 }]);
  await untilProgress(running);
  await stage.publish(['a', 'b', 'c', 'd'].map((key, n) => ({ n: n + 2, key })));
  const what = `address ${stage.topic.rules.address}`;
  await untilFailing(running, what);
  expect(running.health().failing).toMatchObject([
    { what, since: expect.any(Date), error: 'the bank is closed' },
  ]);
  broken = false;
  await untilWell(running);

  expect(done).toBe(false);
  const stops = [running.stop(), orders.stop()];
  expect(running.health()).toMatchObject({ state: 'stopping', joined: false });
  await Promise.all([...stops, running.done]);
  expect(orders.health()).toMatchObject({ state: 'stopped', joined: false });
});

test('a consumer stopped while it waits for its servers names them and reports that it was stopped', async (context: TestContext) => {
  const made = await ownDatabase();
  const prisma = openPrisma(made.url);
  context.onTestFinished(() => prisma.$disconnect());
  const broker = await refusingServer(context);
  const topic = numbered('orders');
  const orders = consumer(prisma, {
    config: configOf(made.url, broker.address, topic),
    group: 'waiting',
    window: 'forever',
    logger: false,
  }).on(topic, async () => undefined);
  const starting = orders.start();
  const refused = starting.then(
    () => undefined,
    (error: unknown) => error,
  );
  await untilFailing(orders, 'kafka');

  const awakeMs = awake();
  await orders.stop();
  expect(awakeMs()).toBeLessThan(3_000);
  expect(await Promise.race([refused, delay(20_000, 'starting')])).toMatchObject({ code: 'OUTBOX_STOPPED' });
  expect(orders.health()).toMatchObject({ state: 'stopped', joined: false });
});

test('a consumer stopped while its database does not answer does not continue its start', async (context) => {
  const made = await ownDatabase();
  const prisma = openPrisma(made.url);
  context.onTestFinished(() => prisma.$disconnect());
  const blocker = await openTransaction(made.url);
  context.onTestFinished(() => blocker.rollback());
  await blocker.query('lock table outbox.migration in access exclusive mode');
  const topic = numbered('orders');
  const orders = consumer(prisma, {
    config: configOf(made.url, inject('kafkaBrokers'), topic),
    group: 'waiting',
    logger: false,
  }).on(topic, async () => undefined);
  const started = orders.start();
  started.catch(() => undefined);
  await untilLockWaits(made.database, 1);
  await orders.stop();
  // Sooner than a statement is given up.
  const start = Promise.race([started, delay(3_000, 'starting')]);
  await expect(start).rejects.toMatchObject({ code: 'OUTBOX_STOPPED' });
});
