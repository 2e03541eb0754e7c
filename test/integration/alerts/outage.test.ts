import { expect, inject, test } from 'vitest';
import { startRelay } from '../../../src/app/relay/start-relay.ts';
import { send } from '../../../src/outbox/send.ts';
import type { RelayEvent } from '../../../src/relay/report.ts';
import { startFaultProxy } from '../../support/faults/fault-proxy.ts';
import { hookServer } from '../../support/fixtures/alert-receivers.ts';
import { journalTransport } from '../../support/fixtures/journal.ts';
import { numbered, openStage } from '../../support/fixtures/stage.ts';
import { until } from '../../support/fixtures/until.ts';

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
  await expect.poll(() => told().map(({ rule }) => rule), { timeout: 60_000 }).toEqual(['serverAway']);
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
