// @module-tag apart
import { setTimeout as delay } from 'node:timers/promises';
import { expect, inject, type TestContext, test } from 'vitest';
import { startRelay } from '../../../src/app/relay/start-relay.ts';
import type { RelayConfig } from '../../../src/config/config.ts';
import type { Topic } from '../../../src/core/topic.ts';
import { send } from '../../../src/outbox/send.ts';
import { startFaultProxy } from '../../support/faults/fault-proxy.ts';
import { proxiedDatabase } from '../../support/faults/proxied-database.ts';
import { refusingServer } from '../../support/faults/refusing-server.ts';
import { awake } from '../../support/fixtures/awake.ts';
import { ownDatabase } from '../../support/fixtures/database.ts';
import { testGate } from '../../support/fixtures/gate.ts';
import { type JournalOptions, journalTransport } from '../../support/fixtures/journal.ts';
import { untilLockWaits } from '../../support/fixtures/lock-waits.ts';
import { openTransaction } from '../../support/fixtures/open-transaction.ts';
import {
  type Numbered,
  numbered,
  openStage,
  quietTemporal,
  type Stage,
} from '../../support/fixtures/stage.ts';
import { failing, untilFailing, untilProgress, untilWell } from '../../support/fixtures/told-health.ts';
import { until } from '../../support/fixtures/until.ts';

/** The configuration of a relay whose Temporal refuses connections. */
async function withoutTemporal(context: TestContext): Promise<RelayConfig> {
  const temporal = await refusingServer(context);
  const made = await ownDatabase();
  quietTemporal();
  return {
    database: { url: made.url },
    temporal: { address: temporal.address },
    topics: [numbered('orders')],
    transports: { journal: journalTransport(made.url) },
  };
}

/** The configuration of a relay whose database refuses connections. */
async function withoutDatabase(context: TestContext): Promise<RelayConfig> {
  const config = await withoutTemporal(context);
  const database = await refusingServer(context);
  return { ...config, database: { url: `postgres://relay@${database.address}/outbox` } };
}

/** A relay that delivers to the journal of a stage, behind proxies before both of its servers. */
async function proxiedRelay(
  context: TestContext,
  stage: Stage,
  topic: Topic<Numbered>,
  journal: JournalOptions = {},
) {
  const { proxy, url } = await proxiedDatabase(context, stage.url, 1);
  const temporal = await startFaultProxy(inject('temporalAddress'));
  context.onTestFinished(() => temporal.close());
  const relay = startRelay(
    {
      database: { url },
      temporal: { address: temporal.address },
      topics: [topic],
      transports: { journal: journalTransport(stage.url, journal) },
    },
    { logger: false },
  );
  context.onTestFinished(() => relay.stop());
  await relay.ready;
  return { relay, proxy, temporal };
}

test('the health of a relay shows its start, its progress and its stop, and a second stop ends with the first', async (context) => {
  const orders = numbered('orders');
  const stage = await openStage(context, { topics: [orders] });
  const relay = await stage.relay();
  expect(relay.health()).toEqual({ state: 'running', joined: true, lastProgressAt: null, failing: [] });

  let done = false;
  void relay.done.then(() => (done = true));
  const before = new Date();
  await stage.commit((tx) => send(tx, orders, { n: 1 }));
  await untilProgress(relay);
  expect(relay.health().lastProgressAt?.getTime()).toBeGreaterThanOrEqual(before.getTime());

  expect(done).toBe(false);
  const stops = [relay.stop(), relay.stop({ timeout: '10s' })];
  expect(relay.health()).toMatchObject({ state: 'stopping', joined: false });
  await Promise.all(stops);
  await relay.done;
  expect(relay.health()).toMatchObject({ state: 'stopped', joined: false });
});

test('a relay without Temporal is ready, names what is unreachable, and leaves open whether workflows can be searched', async (context) => {
  const config = await withoutTemporal(context);
  const relay = startRelay(config, { logger: false });
  expect(relay.health()).toMatchObject({ state: 'starting', joined: false });

  await relay.ready;

  expect(relay.health()).toMatchObject({ state: 'running', joined: true });
  await untilFailing(relay, 'Temporal');
  expect(relay.health().failing).toMatchObject([
    { what: 'Temporal', error: { code: 'OUTBOX_SERVER_UNAVAILABLE' } },
  ]);
  await relay.stop();
  expect(relay.health().state).toBe('stopped');
  await relay.done;
  await expect(relay.searchAttributes).rejects.toMatchObject({ code: 'OUTBOX_STOPPED' });
});

test('a relay stopped while it waits for its database reports that it was stopped', async (context) => {
  const config = await withoutDatabase(context);
  const relay = startRelay(config, { logger: false });
  await untilFailing(relay, 'PostgreSQL');

  await relay.stop();

  expect(relay.health().state).toBe('stopped');
  await expect(relay.ready).rejects.toMatchObject({ code: 'OUTBOX_STOPPED' });
  await relay.done;
});

test('a relay stopped while its database does not answer does not continue its start', async (context) => {
  const made = await ownDatabase();
  const blocker = await openTransaction(made.url);
  context.onTestFinished(() => blocker.rollback());
  await blocker.query('lock table outbox.migration in access exclusive mode');
  const config = { ...(await withoutTemporal(context)), database: { url: made.url } };
  const relay = startRelay(config, { logger: false });
  await untilLockWaits(made.database, 1);
  const awakeMs = awake();
  await relay.stop();
  // A second, and what the product does besides.
  expect(awakeMs()).toBeLessThan(4_000);
  // Sooner than a statement is given up.
  const start = Promise.race([relay.ready, delay(3_000, 'starting')]);
  await expect(start).rejects.toMatchObject({ code: 'OUTBOX_STOPPED' });
});

test('a relay that cannot start rejects ready and done with the same reason, and is stopped', async (context) => {
  const config = await withoutDatabase(context);
  const relay = startRelay(config, { logger: false, startTimeout: '1s' });
  const unavailable = { code: 'OUTBOX_SERVER_UNAVAILABLE' };
  await expect(relay.done).rejects.toMatchObject(unavailable);
  await expect(relay.ready).rejects.toMatchObject(unavailable);
  expect(relay.health()).toMatchObject({ state: 'stopped', joined: false });
  await relay.stop();
});

test('the health of a relay names a server that vanished, until it is back', async (context) => {
  const orders = numbered('orders');
  const stage = await openStage(context, { topics: [orders] });
  const { relay, proxy, temporal } = await proxiedRelay(context, stage, orders);
  expect(failing(relay)).toEqual([]);

  proxy.inject({ kind: 'blackhole' });
  await untilFailing(relay, 'PostgreSQL');
  proxy.inject({ kind: 'reset' });
  await untilFailing(relay, 'look');
  proxy.heal();
  // Sooner than it would be forgotten: a successful look resolves it. Rare actions may have failed in between, too.
  await until(() => !failing(relay).includes('look'), 10_000);
  await untilWell(relay);

  temporal.inject({ kind: 'reset' });
  await untilFailing(relay, 'Temporal');
  expect(relay.health().state).toBe('running');
  temporal.heal();
  await untilWell(relay, 40_000);
});

test('a relay waits for the batch in hand, but no longer than the time of its stop', async (context) => {
  const orders = numbered('orders');
  const stage = await openStage(context, { topics: [orders] });
  const begun = testGate(context);
  const sent = testGate(context);
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

  const [told, awakeMs] = [performance.now(), awake()];
  await Promise.race([relay.stop({ timeout: '1s' }), delay(20_000)]);
  const [tookMs, ownMs] = [performance.now() - told, awakeMs()];
  // A wait without limit must not also delay the end of the test.
  if (tookMs > 4_000) sent.open();
  expect(tookMs).toBeGreaterThan(1_000);
  // A second behind it, and what the product does besides.
  expect(ownMs).toBeLessThan(4_000);

  // Its messages continue elsewhere, as if it had died, while its own batch is still on the wire.
  await stage.relay({}, { publisher: 'another' });
  await until(async () => (await stage.lastPublisher()) === 'another', 60_000);
});

test('a relay waits for the batch in hand also while Temporal is unreachable', async (context) => {
  const orders = numbered('orders');
  const stage = await openStage(context, { topics: [orders] });
  const begun = testGate(context);
  const sent = testGate(context);
  const before = async (): Promise<void> => {
    begun.open();
    await sent.opened;
  };
  const { relay, temporal } = await proxiedRelay(context, stage, orders, { before });
  const { id } = await stage.commit((tx) => send(tx, orders, { n: 1 }));
  await begun.opened;
  temporal.inject({ kind: 'reset' });
  await untilFailing(relay, 'Temporal');

  const stopping = relay.stop().then(() => 'over');
  // Longer than the wait for an unreachable server.
  expect(await Promise.race([stopping, delay(1_500, 'waiting')])).toBe('waiting');
  sent.open();
  expect(await Promise.race([stopping, delay(30_000, 'waiting')])).toBe('over');
  expect(await stage.stateOf(id)).toBe('published');
});
