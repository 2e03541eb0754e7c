import { expect, inject, type TestContext, test, vi } from 'vitest';
import type { AlertSettings } from '../../../src/alerts/settings.ts';
import { type RunningRelay, startRelay } from '../../../src/app/relay/start-relay.ts';
import type { RelayEvent } from '../../../src/relay/report.ts';
import { silenceRule } from '../../../src/store/alerts/silences.ts';
import { type FaultProxy, startFaultProxy } from '../../support/faults/fault-proxy.ts';
import { type HookServer, hookServer } from '../../support/fixtures/alert-receivers.ts';
import { journalTransport } from '../../support/fixtures/journal.ts';
import { numbered, openStage, type Stage } from '../../support/fixtures/stage.ts';

// A relay looks at its database every five seconds, and an outage is over after four looks.
vi.setConfig({ testTimeout: 240_000 });

interface Away {
  readonly stage: Stage;
  readonly postgres: FaultProxy;
  readonly hook: HookServer;
  /** What was reported of alerts. */
  readonly reported: string[];
  start(alerts?: Partial<AlertSettings>): RunningRelay;
}

/** What relays need whose way to PostgreSQL can be cut. */
async function awayStage(context: TestContext): Promise<Away> {
  const orders = numbered('orders');
  const stage = await openStage(context, { topics: [orders] });
  const url = new URL(stage.url);
  const postgres = await startFaultProxy(url.host);
  context.onTestFinished(() => postgres.close());
  url.host = postgres.address;
  const hook = await hookServer(context);
  const reported: string[] = [];
  const note = (event: RelayEvent): void => {
    if (event.type === 'alert-untold') reported.push(`${event.type} ${event.destination}`);
    else if (event.type.startsWith('alert') && 'rule' in event && event.subject.startsWith('PostgreSQL'))
      reported.push(`${event.type} ${event.rule}`);
  };
  return {
    stage,
    postgres,
    hook,
    reported,
    start(alerts = {}) {
      const relay = startRelay(
        {
          database: { url: url.href },
          temporal: { address: inject('temporalAddress') },
          topics: [orders],
          transports: { journal: journalTransport(stage.url) },
          alerts: { serverAway: '1ms', interval: 500, to: { webhook: { url: hook.url } }, ...alerts },
        },
        { logger: false, report: note },
      );
      context.onTestFinished(() => relay.stop());
      return relay;
    },
  };
}

/** What a webhook was told of PostgreSQL. */
const told = ({ hook }: Away) =>
  hook.posted.flatMap(({ json }) => json.alerts).filter(({ subject }) => subject.startsWith('PostgreSQL'));
const patiently = { timeout: 60_000 };

test('while PostgreSQL is away a relay tells that by itself, with the reason, once when it begins and once when it is over', {
  tags: ['alerts-told-once'],
}, async (context) => {
  const away = await awayStage(context);
  const relay = away.start();
  await relay.searchAttributes;
  away.postgres.inject({ kind: 'reset' });
  const cutAt = Date.now();
  await expect.poll(() => told(away).map(({ state }) => state), patiently).toEqual(['firing']);
  away.postgres.heal();
  await expect.poll(() => told(away).map(({ state }) => state), patiently).toEqual(['firing', 'over']);

  const [began, ended] = told(away);
  expect(began).toMatchObject({
    rule: 'serverAway',
    subject: `PostgreSQL ${away.postgres.address}`,
    text: expect.stringMatching(/ has been away for .*; the relay on \S+ gets: \S+/),
    next: 'temporal-outbox doctor',
    until: null,
  });
  expect(ended?.since).toBe(began?.since);
  expect(Date.parse(`${began?.since}`)).toBeGreaterThanOrEqual(cutAt);
  expect(Date.parse(`${ended?.until}`)).toBeGreaterThan(Date.parse(`${began?.since}`));
  expect(away.reported).toEqual(['alert-began serverAway', 'alert-ended serverAway']);
});

test('a relay that waits at its start for PostgreSQL tells that, also by a webhook that refuses it at first', {
  tags: ['alerts-told-once'],
}, async (context) => {
  const away = await awayStage(context);
  away.postgres.inject({ kind: 'reset' });
  away.hook.answer = 500;
  away.start();
  await expect.poll(() => away.reported, patiently).toContain('alert-untold webhook');
  expect(told(away)).toEqual([]);
  away.hook.answer = 200;
  await expect.poll(() => told(away).map(({ state }) => state), patiently).toEqual(['firing']);
});

test('an outage of PostgreSQL is told to nobody while its rule is silenced, or off', {
  tags: ['alerts-told-once'],
}, async (context) => {
  const away = await awayStage(context);
  const author = { actor: 'anna', reason: 'upgrade' };
  await silenceRule(away.stage.database, 'serverAway', 3_600_000, author, false);
  await away.start().searchAttributes;
  away.start({ serverAway: false });
  // The relay has read the silence at its first look.
  away.postgres.inject({ kind: 'reset' });
  await expect.poll(() => away.reported, patiently).toEqual(['alert-began serverAway']);
  away.postgres.heal();
  await expect
    .poll(() => away.reported, patiently)
    .toEqual(['alert-began serverAway', 'alert-ended serverAway']);
  expect(told(away)).toEqual([]);
});
