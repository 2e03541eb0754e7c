import { expect, inject, type TestContext, test } from 'vitest';
import { alertsOf } from '../../../src/app/relay/alerts.ts';
import { watchDatabase } from '../../../src/app/relay/database-watch.ts';
import { startRelay } from '../../../src/app/relay/start-relay.ts';
import type { RelayConfig } from '../../../src/config/config.ts';
import type { RelayEvent } from '../../../src/relay/report.ts';
import { silenceRule } from '../../../src/store/alerts/silences.ts';
import { openDatabase } from '../../../src/store/database/pool.ts';
import type { AlertSettings } from '../../../src/watch/settings.ts';
import type { FaultProxy } from '../../support/faults/fault-proxy.ts';
import { proxiedDatabase } from '../../support/faults/proxied-database.ts';
import { type HookServer, hookServer } from '../../support/fixtures/alert-receivers.ts';
import { type LaneFixture, ownLane } from '../../support/fixtures/lane-fixture.ts';
import { numbered } from '../../support/fixtures/stage.ts';

interface Away {
  readonly lanes: LaneFixture;
  /** Of the database, through the proxy. */
  readonly url: string;
  readonly postgres: FaultProxy;
  readonly hook: HookServer;
  /** What was reported of alerts. */
  readonly reported: string[];
  readonly report: (event: RelayEvent) => void;
  readonly configOf: (alerts?: Partial<AlertSettings>) => RelayConfig;
}

/** What tells alerts of a PostgreSQL to which the way can be cut. */
async function away(context: TestContext): Promise<Away> {
  const lanes = await ownLane();
  const { proxy, url } = await proxiedDatabase(context, lanes.url, 1);
  const hook = await hookServer(context);
  const reported: string[] = [];
  return {
    lanes,
    url,
    postgres: proxy,
    hook,
    reported,
    report(event) {
      if (event.type === 'alert-untold') reported.push(`${event.type} ${event.destination}`);
      else if (event.type.startsWith('alert') && 'rule' in event && event.subject.startsWith('PostgreSQL'))
        reported.push(`${event.type} ${event.rule}`);
    },
    configOf: (alerts = {}) => ({
      database: { url },
      temporal: { address: inject('temporalAddress') },
      topics: [numbered('orders')],
      transports: { scripted: lanes.broker },
      alerts: { serverAway: '1ms', interval: 500, to: { webhook: { url: hook.url } }, ...alerts },
    }),
  };
}

/** Looks at the database and tells alerts as a relay does, ten times a second. @returns how often it has answered */
function watch(
  context: TestContext,
  { configOf, report, url }: Away,
  settings?: Partial<AlertSettings>,
): () => number {
  const database = openDatabase({ url, connections: 2 });
  const alerts = alertsOf(configOf(settings), { database, report });
  let answers = 0;
  const watching = watchDatabase({
    database,
    everyMs: 100,
    looked(error) {
      if (error === null) answers += 1;
      alerts?.databaseLooked(error);
    },
  });
  context.onTestFinished(async () => {
    await Promise.all([watching.stop(), alerts?.stop()]);
    await database.close();
  });
  return () => answers;
}

/** What a webhook was told of PostgreSQL. */
const told = ({ hook }: Away) =>
  hook.posted.flatMap(({ json }) => json.alerts).filter(({ subject }) => subject.startsWith('PostgreSQL'));
const statesOf = (some: Away) => told(some).map(({ state }) => state);
const patiently = { timeout: 60_000 };

test('while PostgreSQL is away a relay tells that by itself, also at its start and by a webhook that refuses it at first', {
  tags: ['alerts-told-once'],
}, async (context) => {
  const at = await away(context);
  at.postgres.inject({ kind: 'reset' });
  at.hook.answer = 500;
  const relay = startRelay(at.configOf(), { logger: false, report: at.report });
  context.onTestFinished(() => relay.stop());
  await expect.poll(() => at.reported, patiently).toContain('alert-untold webhook');
  expect(told(at)).toEqual([]);
  at.hook.answer = 200;
  await expect.poll(() => statesOf(at), patiently).toEqual(['firing']);
});

test('an outage of PostgreSQL is told once when it begins, with the reason, and once when it is over', {
  tags: ['alerts-told-once'],
}, async (context) => {
  const at = await away(context);
  const answers = watch(context, at);
  await expect.poll(answers, patiently).toBeGreaterThan(0);
  at.postgres.inject({ kind: 'reset' });
  const cutAt = Date.now();
  await expect.poll(() => statesOf(at), patiently).toEqual(['firing']);
  at.postgres.heal();
  await expect.poll(() => statesOf(at), patiently).toEqual(['firing', 'over']);

  const [began, ended] = told(at);
  expect(began).toMatchObject({
    rule: 'serverAway',
    subject: `PostgreSQL ${at.postgres.address}`,
    text: expect.stringMatching(/ has been away for .*; the relay on \S+ gets: \S+/),
    next: 'temporal-outbox doctor',
    until: null,
  });
  expect(ended?.since).toBe(began?.since);
  expect(Date.parse(`${began?.since}`)).toBeGreaterThanOrEqual(cutAt);
  expect(Date.parse(`${ended?.until}`)).toBeGreaterThan(Date.parse(`${began?.since}`));
  expect(at.reported).toEqual(['alert-began serverAway', 'alert-ended serverAway']);
});

test('an outage of PostgreSQL is told to nobody while its rule is silenced, or off', {
  tags: ['alerts-told-once'],
}, async (context) => {
  const at = await away(context);
  const author = { actor: 'anna', reason: 'upgrade' };
  await silenceRule(at.lanes.database, 'serverAway', 3_600_000, author, false);
  const answers = watch(context, at);
  watch(context, at, { serverAway: false });
  // The silence is read after the first answer.
  await expect.poll(answers, patiently).toBeGreaterThan(3);
  at.postgres.inject({ kind: 'reset' });
  await expect.poll(() => at.reported, patiently).toEqual(['alert-began serverAway']);
  at.postgres.heal();
  const both = ['alert-began serverAway', 'alert-ended serverAway'];
  await expect.poll(() => at.reported, patiently).toEqual(both);
  expect(told(at)).toEqual([]);
});
