import { expect, inject, type TestContext, test } from 'vitest';
import { consumer } from '../../src/config/consumer.ts';
import { startRelay } from '../../src/config/start-relay.ts';
import type { Health } from '../../src/core/health.ts';
import { send } from '../../src/outbox/send.ts';
import { startFaultProxy } from '../support/faults/fault-proxy.ts';
import { proxiedDatabase } from '../support/faults/proxied-database.ts';
import { refusingServer } from '../support/faults/refusing-server.ts';
import { createTestDatabase } from '../support/fixtures/database.ts';
import { heldGate } from '../support/fixtures/gate.ts';
import { configOf, InboxStage } from '../support/fixtures/inbox-stage.ts';
import { journalTransport } from '../support/fixtures/journal.ts';
import { openPrisma } from '../support/fixtures/prisma.ts';
import { numbered, openStage, quietTemporal } from '../support/fixtures/stage.ts';
import { until } from '../support/fixtures/until.ts';

/** What is failing, as names. */
const failing = (some: { health(): Health }) => some.health().failing.map(({ what }) => what);

test('the health of a relay tells its start, its progress and its stop, and a second stop ends with the first', async (context) => {
  const orders = numbered('orders');
  const stage = await openStage(context, { topics: [orders] });
  const relay = await stage.relay();
  expect(relay.health()).toEqual({ state: 'running', joined: true, lastProgressAt: null, failing: [] });

  const before = new Date();
  await stage.commit((tx) => send(tx, orders, { n: 1 }));
  await until(() => relay.health().lastProgressAt !== null);
  expect(relay.health().lastProgressAt?.getTime()).toBeGreaterThanOrEqual(before.getTime());

  let done = false;
  void relay.done.then(() => (done = true));
  const stops = [relay.stop(), relay.stop({ within: '10s' })];
  expect(relay.health()).toMatchObject({ state: 'stopping', joined: false });
  expect(done).toBe(false);
  await Promise.all(stops);
  await relay.done;
  expect(relay.health()).toMatchObject({ state: 'stopped', joined: false });
});

test('a relay that is stopped while it waits tells so, and its start says that it was stopped', async (context) => {
  const temporal = await refusingServer(context);
  const made = await createTestDatabase();
  context.onTestFinished(() => made.drop());
  quietTemporal();
  const config = {
    database: { url: made.url },
    temporal: { address: temporal.address },
    topics: [numbered('orders')],
    transports: { journal: journalTransport(made.url) },
  };
  const relay = startRelay(config, { logger: false });
  expect(relay.health()).toMatchObject({ state: 'starting', joined: false });
  await until(() => failing(relay).includes('Temporal'));
  expect(relay.health().failing).toMatchObject([
    { what: 'Temporal', error: { code: 'OUTBOX_SERVER_UNAVAILABLE' } },
  ]);

  await relay.stop();
  expect(relay.health().state).toBe('stopped');
  await expect(relay.ready).rejects.toMatchObject({ code: 'OUTBOX_STOPPED' });
  await relay.done;
});

test('the health of a relay names a server that has vanished, and forgets it when it is back', async (context) => {
  const orders = numbered('orders');
  const stage = await openStage(context, { topics: [orders] });
  const { proxy, url } = await proxiedDatabase(context, stage.url, 1);
  const temporal = await startFaultProxy(inject('temporalAddress'));
  context.onTestFinished(() => temporal.close());
  const relay = startRelay(
    {
      database: { url },
      temporal: { address: temporal.address },
      topics: [orders],
      transports: { journal: journalTransport(stage.url) },
    },
    { logger: false },
  );
  context.onTestFinished(() => relay.stop());
  await relay.ready;
  expect(failing(relay)).toEqual([]);

  proxy.inject({ kind: 'blackhole' });
  await until(() => failing(relay).includes('PostgreSQL') || failing(relay).includes('look'));
  proxy.heal();
  await until(() => !failing(relay).includes('PostgreSQL') && !failing(relay).includes('look'));

  temporal.inject({ kind: 'reset' });
  await until(() => failing(relay).includes('Temporal'));
  expect(relay.health().state).toBe('running');
  temporal.heal();
  await until(() => failing(relay).length === 0, 60_000);
});

test('a relay waits for the batch in hand, but no longer than it was told', async (context) => {
  const orders = numbered('orders');
  const stage = await openStage(context, { topics: [orders] });
  const begun = heldGate(context);
  const sent = heldGate(context);
  const relay = await stage.relay(
    {},
    {
      before: async () => {
        begun.open();
        await sent.opened;
      },
    },
  );
  await stage.commit((tx) => send(tx, orders, { n: 1 }));
  await begun.opened;

  const told = performance.now();
  await relay.stop({ within: '1s' });
  const tookMs = performance.now() - told;
  expect(tookMs).toBeGreaterThan(1_000);
  // A second behind it, and what a busy machine adds.
  expect(tookMs).toBeLessThan(4_000);

  // What it left goes on elsewhere, as if it had died, while its own batch is still on the way.
  await stage.relay({}, { publisher: 'another' });
  await until(async () => (await stage.lastPublisher()) === 'another', 60_000);
});

test('the health of a consumer tells its start, its progress, what stands still, and its stop', async (context) => {
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
  expect(running.health()).toEqual({ state: 'running', joined: true, lastProgressAt: null, failing: [] });

  await stage.publish([{ n: 1 }]);
  await until(() => running.health().lastProgressAt !== null);
  await stage.publish(['a', 'b', 'c', 'd'].map((key, n) => ({ n: n + 2, key })));
  const what = `address ${stage.topic.rules.address}`;
  await until(() => failing(running).includes(what));
  expect(running.health().failing).toMatchObject([
    { what, since: expect.any(Date), error: expect.any(Error) },
  ]);
  broken = false;
  await until(() => failing(running).length === 0);

  const stops = [running.stop(), orders.stop()];
  expect(running.health()).toMatchObject({ state: 'stopping', joined: false });
  await Promise.all([...stops, running.done]);
  expect(orders.health()).toMatchObject({ state: 'stopped', joined: false });
});

test('a consumer that is stopped while it waits for its servers tells which, and says that it was stopped', async (context: TestContext) => {
  const made = await createTestDatabase();
  context.onTestFinished(() => made.drop());
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
  const refused = expect(starting).rejects.toMatchObject({ code: 'OUTBOX_STOPPED' });
  await until(() => failing(orders).includes('kafka'));

  const told = performance.now();
  await orders.stop();
  expect(performance.now() - told).toBeLessThan(3_000);
  await refused;
  expect(orders.health()).toMatchObject({ state: 'stopped', joined: false });
});
