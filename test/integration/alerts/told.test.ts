import { Webhook } from 'standardwebhooks';
import { expect, type TestContext, test } from 'vitest';
import { alertsOf } from '../../../src/app/relay/alerts.ts';
import { defineConfig } from '../../../src/config/config.ts';
import type { RelayEvent } from '../../../src/relay/report.ts';
import { silenceRule } from '../../../src/store/alerts/silences.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { FigureLooks } from '../../../src/watch/figure-looks.ts';
import type { AlertSettings } from '../../../src/watch/settings.ts';
import { hookServer, mailServer } from '../../support/fixtures/alert-receivers.ts';
import { judged } from '../../support/fixtures/judged.ts';
import { type LaneFixture, ownLane } from '../../support/fixtures/lane-fixture.ts';
import { numbered } from '../../support/fixtures/stage.ts';
import { until } from '../../support/fixtures/until.ts';
import { webhookSecret } from '../../support/fixtures/webhook.ts';

/** Short enough for a test; everything else follows from it. */
const intervalMs = 100;

interface Watch {
  readonly alerts: AlertSettings;
  readonly relays?: number;
  readonly database?: Database;
}

/** The alerts of some relays, with the events that they report. */
async function watch(context: TestContext, lanes: LaneFixture, { alerts, relays = 2, database }: Watch) {
  const events: RelayEvent[] = [];
  const config = defineConfig({
    database: { url: lanes.url },
    topics: [numbered('orders')],
    transports: { scripted: lanes.broker },
    alerts: { interval: intervalMs, ...alerts },
  });
  const input = {
    database: database ?? lanes.database,
    report: (event: RelayEvent) => void events.push(event),
  };
  const running = Array.from({ length: relays }, () => {
    const watching = alertsOf(config, input);
    if (watching === undefined) throw new Error('The configuration has alerts.');
    const { everyMs } = watching;
    const rules = { archiveAfterMs: 60_000 };
    return [watching, new FigureLooks({ ...input, rules, everyMs, seen: (noted) => watching.seen(noted) })];
  }).flat();
  for (const one of running) one.start();
  const stop = async (): Promise<void> => {
    await Promise.all(running.map((one) => one.stop()));
  };
  context.onTestFinished(stop);
  return { events, stop };
}

/** A lane with a failed message. */
async function withFailed(): Promise<LaneFixture> {
  const lanes = await ownLane();
  lanes.broker.judge = () => 'permanent';
  await lanes.send('failed');
  await lanes.drain();
  return lanes;
}

const discard = (lanes: LaneFixture) =>
  lanes.database.query(`update outbox.message set state = 'discarded' where state = 'failed'`);

test('with two relays, a webhook and a mail server get exactly one alert when it begins and one when it is over', {
  tags: ['alerts-told-once'],
}, async (context) => {
  const lanes = await withFailed();
  const [hook, mail] = [await hookServer(context), await mailServer(context)];
  const secret = webhookSecret('s');
  const { events } = await watch(context, lanes, {
    alerts: {
      to: {
        webhook: { url: hook.url, secret },
        email: { server: mail.url, from: 'outbox@shop.example', to: ['ops@shop.example'] },
      },
    },
  });

  await until(() => hook.posted.length > 0 && mail.mails.length > 0);
  await judged(lanes, 20);
  expect(hook.posted).toHaveLength(1);
  expect(mail.mails).toHaveLength(1);
  const [first] = hook.posted;
  if (first === undefined) throw new Error('Nothing was posted.');
  expect(first.json.alerts).toEqual([
    {
      rule: 'failed',
      subject: 'topic orders',
      state: 'firing',
      figure: 1,
      text: '1 message of topic orders failed and wait for a person (at most 0 messages)',
      since: expect.stringMatching(/^20/),
      until: null,
      next: 'temporal-outbox list --topic orders --state failed',
      runbook: 'docs/runbook.md#failed',
    },
  ]);
  expect(first.json.text).toMatch(
    /^temporal-outbox of test_\w+ at [^\n]+: 1 alert\nFIRING failed: 1 message [^\n]+\. Since 20\S+ \S+ UTC\. Next: temporal-outbox list --topic orders --state failed\nRunbook: docs\/runbook\.md#failed$/,
  );
  expect(first.json.text).not.toContain('postgres:');
  expect(() => new Webhook(secret).verify(first.body, first.headers as Record<string, string>)).not.toThrow();
  expect(mail.mails[0]).toMatch(/^Subject: temporal-outbox of test_/m);
  expect(mail.mails[0]).toMatch(/^To: ops@shop\.example/m);

  await discard(lanes);
  await until(() => hook.posted.length > 1 && mail.mails.length > 1);
  await judged(lanes, 20);

  expect(hook.posted.map(({ json }) => json.alerts.map(({ state }) => state))).toEqual([
    ['firing'],
    ['over'],
  ]);
  expect(mail.mails).toHaveLength(2);
  expect(mail.mails[1]).toContain('OVER failed, after');
  expect(events.map(({ type }) => type)).toEqual(['alert-began', 'alert-ended']);
});

test('a rule that is silenced tells nobody, neither that it begins nor that it is over, and tells again afterwards', {
  tags: ['alerts-told-once'],
}, async (context) => {
  const lanes = await withFailed();
  const hook = await hookServer(context);
  const silence = (forMs: number) =>
    silenceRule(lanes.database, 'failed', forMs, { actor: 'ada', reason: 'known' }, false);
  await silence(3_600_000);
  await watch(context, lanes, { alerts: { to: { webhook: { url: hook.url } } } });
  await judged(lanes, 10);
  await discard(lanes);
  await judged(lanes, 10);
  expect(await lanes.database.query('select from outbox.alert')).toEqual([]);
  expect(hook.posted).toEqual([]);

  await lanes.send('fails, too');
  await lanes.drain();
  await until(async () => (await lanes.database.query('select from outbox.alert')).length === 1);
  expect(hook.posted).toEqual([]);
  await silence(0);

  await until(() => hook.posted.length === 1);
});

test('a webhook that fails is tried again and reported, is not named, and holds up no e-mail', {
  tags: ['alerts-told-once'],
}, async (context) => {
  const lanes = await withFailed();
  const [hook, mail] = [await hookServer(context), await mailServer(context)];
  hook.answer = 503;
  const { events } = await watch(context, lanes, {
    alerts: {
      to: {
        webhook: { url: hook.url },
        email: { server: mail.url, from: 'outbox@shop.example', to: ['ops@shop.example'] },
      },
    },
  });
  const untold = () => events.flatMap((event) => (event.type === 'alert-untold' ? [event] : []));
  await until(() => mail.mails.length === 1 && untold().length >= 2);
  hook.answer = 204;
  await until(() => hook.posted.length === 1);
  await judged(lanes, 10);

  expect(untold().slice(0, 2)).toMatchObject([
    { destination: 'webhook', failures: 1, retryInMs: 1_000, error: new Error('it answered 503') },
    { destination: 'webhook', failures: 2, retryInMs: 2_000 },
  ]);
  expect(hook.posted).toHaveLength(1);
  expect(mail.mails).toHaveLength(1);
  const [row] = await lanes.database.query(
    `select failures, error from outbox.alert_destination where name = 'webhook'`,
  );
  expect(row).toEqual({ failures: 0, error: null });
});

test('a relay that stops gives up a webhook that does not answer, and another relay tells it at once', async (context) => {
  const lanes = await withFailed();
  const hook = await hookServer(context);
  hook.answer = 'silent';
  const alerts = { to: { webhook: { url: hook.url } } };
  const first = await watch(context, lanes, { alerts, relays: 1 });
  await until(async () => (await lanes.database.query('select from outbox.alert_destination')).length === 1);
  const before = performance.now();
  await first.stop();
  // An answer is awaited for ten seconds.
  expect(performance.now() - before).toBeLessThan(9_000);
  expect(first.events.filter(({ type }) => type === 'alert-untold')).toEqual([]);

  hook.answer = 200;
  await watch(context, lanes, { alerts, relays: 1 });
  await until(() => hook.posted.length === 1);
});

test('however seldom figures are read, a destination that was told a minute ago is told at once', {
  tags: ['alerts-told-once'],
}, async (context) => {
  const lanes = await withFailed();
  const hook = await hookServer(context);
  await lanes.database.query(
    `insert into outbox.alert_destination (name, leased_until, told_at)
     values ('webhook', clock_timestamp(), clock_timestamp() - interval '1 minute')`,
  );
  await watch(context, lanes, { alerts: { interval: '5 minutes', to: { webhook: { url: hook.url } } } });

  await expect.poll(() => hook.posted.length).toBe(1);
});

test('alerts that begin soon after another are told in one message', async (context) => {
  const lanes = await withFailed();
  const hook = await hookServer(context);
  await watch(context, lanes, { alerts: { interval: 500, to: { webhook: { url: hook.url } } } });
  await until(() => hook.posted.length === 1);
  await lanes.database.query(
    `insert into outbox.group_place (transport, address, consumer_group, places) select 'memory', 'orders', g, '{"0": {"at": "5", "sinceMs": 1, "standsMs": 3600000}}'
     from unnest(array['billing', 'mail']) g`,
  );
  await judged(lanes, 1);
  await lanes.database.query(
    `insert into outbox.group_place (transport, address, consumer_group, places) values ('memory', 'orders', 'stock', '{"0": {"at": "5", "sinceMs": 1, "standsMs": 3600000}}')`,
  );
  await until(() => hook.posted.length === 2);

  // They have lasted for the same time, so they are told in any order.
  const told = hook.posted[1]?.json.alerts.map(({ rule, subject }) => `${rule} ${subject}`) ?? [];
  expect(told.toSorted((a, b) => (a < b ? -1 : 1))).toEqual(
    ['billing', 'mail', 'stock'].map((group) => `stalledGroup group ${group} of orders`),
  );
});

test('characters that begin links and mentions in Slack are written as text', async (context) => {
  const lanes = await ownLane();
  await lanes.send('waits');
  await lanes.database.query('update outbox.lane set hold = $1::jsonb', [
    JSON.stringify({ scope: 'topic', reason: 'see <!channel> & more', since: new Date(0).toISOString() }),
  ]);
  const hook = await hookServer(context);
  await watch(context, lanes, { alerts: { to: { webhook: { url: hook.url } } } });
  await until(() => hook.posted.length === 1);

  expect(hook.posted[0]?.json.text).toContain('see &lt;!channel&gt; &amp; more');
  expect(hook.posted[0]?.json.alerts[0]?.text).toContain('see <!channel> & more');
});

test('a topic whose broker is away is told once when that begins and once when it is over, whoever owns its lane', {
  tags: ['hold-as-old-as-its-cause'],
}, async (context) => {
  const lanes = await ownLane();
  const hook = await hookServer(context);
  await watch(context, lanes, { alerts: { hold: 800, to: { webhook: { url: hook.url } } } });
  lanes.broker.judge = () => 'hold';
  lanes.broker.reachable = false;
  await lanes.send('waits');
  const told = () =>
    hook.posted.flatMap(({ json }) => json.alerts.map(({ rule, state }) => `${rule} ${state}`));

  // Longer than the threshold, and than an alert goes on without its figure.
  for (let owner = 1; owner <= 3; owner += 1) {
    const stop = new AbortController();
    const drained = lanes.drain({ signal: stop.signal });
    await judged(lanes, 15);
    stop.abort();
    await drained;
  }
  await until(() => told().length > 0);
  expect(told()).toEqual(['hold firing']);

  lanes.broker.judge = () => 'store';
  await lanes.drain();
  await until(() => told().length > 1);
  await judged(lanes, 10);
  expect(told()).toEqual(['hold firing', 'hold over']);
});
