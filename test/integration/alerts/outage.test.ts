import { expect, inject, type TestContext, test, vi } from 'vitest';
import { type RunningRelay, startRelay } from '../../../src/app/relay/start-relay.ts';
import { send } from '../../../src/outbox/send.ts';
import type { RelayEvent } from '../../../src/relay/report.ts';
import { startFaultProxy } from '../../support/faults/fault-proxy.ts';
import { type HookServer, hookServer } from '../../support/fixtures/alert-receivers.ts';
import { journalTransport } from '../../support/fixtures/journal.ts';
import { judged } from '../../support/fixtures/judged.ts';
import { numbered, openStage, type Stage } from '../../support/fixtures/stage.ts';
import { until } from '../../support/fixtures/until.ts';
import { ScriptedBroker } from '../../support/kafka/scripted-broker.ts';

// A relay looks at its servers every five seconds.
vi.setConfig({ testTimeout: 240_000 });

test('an outage of Temporal is told once by two relays, which deliver meanwhile, and told when it is over', {
  tags: ['alerts-told-once'],
}, async (context) => {
  const orders = numbered('orders');
  const stage = await openStage(context, { topics: [orders] });
  const temporal = await startFaultProxy(inject('temporalAddress'));
  context.onTestFinished(() => temporal.close());
  const hook = await hookServer(context);
  const events: RelayEvent[] = [];
  const relays = [0, 1].map(() =>
    startRelay(
      {
        database: { url: stage.url },
        temporal: { address: temporal.address },
        topics: [orders],
        transports: { journal: journalTransport(stage.url) },
        alerts: { serverAway: '1ms', interval: 500, to: { webhook: { url: hook.url } } },
      },
      { logger: false, report: (event) => events.push(event) },
    ),
  );
  context.onTestFinished(async () => {
    await Promise.all(relays.map((relay) => relay.stop()));
  });
  await Promise.all(relays.map((relay) => relay.searchAttributes));
  const told = () => hook.posted.flatMap(({ json }) => json.alerts);

  temporal.inject({ kind: 'reset' });
  // Not `until`: what never comes is an answer, too.
  await expect.poll(() => told().map(({ rule }) => rule), { timeout: 25_000 }).toEqual(['serverAway']);
  await stage.commit((tx) => send(tx, orders, { n: 1 }));
  await stage.untilArrived(1);
  expect(temporal.fired('reset')).toBeGreaterThan(0);
  expect(told()).toMatchObject([
    {
      rule: 'serverAway',
      subject: `Temporal ${temporal.address}`,
      state: 'firing',
      next: 'temporal-outbox doctor',
    },
  ]);
  temporal.heal();
  await until(() => told().length > 1, 60_000);

  expect(told().map(({ rule, state }) => `${rule} ${state}`)).toEqual([
    'serverAway firing',
    'serverAway over',
  ]);
  expect(events.map(({ type }) => type).filter((type) => type.startsWith('alert'))).toEqual([
    'alert-began',
    'alert-ended',
  ]);
});

const orders = numbered('orders');

/** Who owns the lane; `null`: nobody. */
async function ownerOf({ database }: Stage): Promise<string | null> {
  const [row] = await database.query<{ owner: string | null }>('select owner from outbox.lane');
  return row?.owner ?? null;
}

/** Relays whose broker is away as long as the test says. */
function outage(context: TestContext, stage: Stage, hook: HookServer, temporalAddress: string) {
  const broker = new ScriptedBroker();
  const relay = () => {
    const mine = new ScriptedBroker(broker.log);
    mine.judge = (message) => broker.judge(message);
    mine.probe = () => broker.probe();
    const events: RelayEvent[] = [];
    const running: RunningRelay = startRelay(
      {
        database: { url: stage.url },
        temporal: { address: temporalAddress },
        topics: [orders],
        transports: { scripted: mine },
        // An alert is over after four intervals, sooner than a hold that begins anew would be told.
        alerts: {
          hold: '2s',
          serverAway: '1ms',
          oldestDue: false,
          interval: 250,
          to: { webhook: { url: hook.url } },
        },
      },
      { logger: false, report: (event) => events.push(event) },
    );
    context.onTestFinished(() => running.stop());
    const holds = (): boolean =>
      events.filter(({ type }) => type === 'hold-began').length >
      events.filter(({ type }) => type === 'hold-ended').length;
    return { ...running, events, holds };
  };
  return { broker, relay };
}

test('a broker that is away together with Temporal is told once, while relays stop and start and lanes change hands', {
  tags: ['alerts-told-once'],
}, async (context) => {
  const stage = await openStage(context, { topics: [orders] });
  const temporal = await startFaultProxy(inject('temporalAddress'));
  context.onTestFinished(() => temporal.close());
  const hook = await hookServer(context);
  const { broker, relay } = outage(context, stage, hook, temporal.address);
  const relays = [relay(), relay()];
  await Promise.all(relays.map(({ searchAttributes }) => searchAttributes));
  const told = (subject: string) =>
    hook.posted.flatMap(({ json }) =>
      json.alerts.flatMap((alert) => (alert.subject === subject ? [alert.state] : [])),
    );
  const changed = async (from: string | null): Promise<void> => {
    await until(
      async () => relays.some((one) => one.holds()) && ![null, from].includes(await ownerOf(stage)),
      60_000,
    );
    await judged(stage, 16);
  };

  broker.judge = () => 'hold';
  broker.reachable = false;
  await stage.commit((tx) => send(tx, orders, { n: 1 }));
  await until(() => relays.some((one) => one.holds()), 60_000);
  const first = await ownerOf(stage);
  temporal.inject({ kind: 'reset' });
  await expect.poll(() => told('topic orders'), { timeout: 25_000 }).toEqual(['firing']);
  await expect.poll(() => told(`Temporal ${temporal.address}`), { timeout: 25_000 }).toEqual(['firing']);

  // A rolling deploy: the owner is replaced.
  const owning = relays.findIndex((one) => one.holds());
  await relays[owning]?.stop();
  relays[owning] = relay();
  await changed(first);
  const second = await ownerOf(stage);
  temporal.heal();
  // The stand-in lets go of the lane for its workflow.
  await changed(second);
  expect(told('topic orders')).toEqual(['firing']);

  broker.judge = () => 'store';
  broker.reachable = true;
  await expect.poll(() => told('topic orders'), { timeout: 25_000 }).toEqual(['firing', 'over']);
  await expect
    .poll(() => told(`Temporal ${temporal.address}`), { timeout: 60_000 })
    .toEqual(['firing', 'over']);
  await judged(stage, 16);
  expect(told('topic orders')).toEqual(['firing', 'over']);
  expect(broker.labels).toHaveLength(1);
});
