import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { noteAlerts } from '../../../src/store/alerts/alerts.ts';
import { beginFiguresLook, noteFigures } from '../../../src/store/figures/figures-look.ts';
import { readFigures } from '../../../src/store/figures/read-figures.ts';
import { hookServer, mailServer } from '../../support/fixtures/alert-receivers.ts';
import { runCli, runCliProcess } from '../../support/fixtures/cli.ts';
import { ownLane } from '../../support/fixtures/lane-fixture.ts';

const firing = {
  rule: 'failed',
  subject: 'topic orders',
  labels: { topic: 'orders' },
  figure: 2,
  text: '2 messages of topic orders failed',
  next: 'temporal-outbox list --topic orders --state failed',
};
const { labels: _labels, ...listed } = firing;

test('alerts lists what fires, who was told, what is silenced and by whom, and silence is audited', async () => {
  const lanes = await ownLane();
  const { database, url } = lanes;
  const run = (...args: readonly string[]) => runCli(['alerts', ...args, '--database', url]);
  expect((await run()).stdout).toBe(
    'Nothing fires.\nNo relay has judged anything yet: give relays the setting "alerts".\n',
  );
  const number = (await beginFiguresLook(database, 0)) ?? '';
  await noteFigures(database, number, await readFigures(database));
  await noteAlerts(database, number, [firing], { againMs: 60_000, calmReadings: 4 });

  const dry = await run('silence', 'failed', '--for', '2h', '--dry-run', '--actor', 'ada');
  expect(dry.stdout).toMatch(/^Nothing was changed\. failed would tell nobody until 20\S+Z\.\n$/);
  expect(await database.query('select from outbox.alert_silence')).toEqual([]);
  const silenced = await run(
    'silence',
    'failed',
    '--for',
    '2h',
    '--reason',
    'replay',
    '--actor',
    'ada',
    '--yes',
  );
  expect(silenced).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^failed tells nobody until 20\S+Z\.\n$/),
  });

  const { stdout } = await run();
  expect(stdout).toMatch(
    /^RULE +ABOUT +STATE +TOLD +FIGURE\nfailed +topic orders +fires for .* nobody +2 messages/,
  );
  expect(stdout).toContain('  Next: temporal-outbox list --topic orders --state failed\n');
  expect(stdout).toMatch(/\nfailed is silenced until 20\S+Z by ada: replay\n/);
  expect(stdout).toMatch(/\nA relay read the figures .* ago\.\n$/);
  expect(JSON.parse((await run('list', '--json')).stdout)).toMatchObject({
    ok: true,
    alerts: [{ ...listed, overAt: null, toldAt: null }],
    silences: [{ rule: 'failed', actor: 'ada', reason: 'replay' }],
  });
  expect(await run('silence', 'failed', '--for', '0', '--actor', 'ada', '--yes')).toMatchObject({
    code: 0,
    stdout: 'failed tells again.\n',
  });
  expect(
    await database.query(
      `select actor, action, result, reason, details ->> 'rule' as rule, details -> 'until' <> 'null' as silenced from outbox.audit order by id`,
    ),
  ).toEqual([
    {
      actor: 'ada',
      action: 'silence-alert',
      result: 'done',
      reason: 'replay',
      rule: 'failed',
      silenced: true,
    },
    { actor: 'ada', action: 'silence-alert', result: 'done', reason: null, rule: 'failed', silenced: false },
  ]);
});

test('silence refuses an unknown rule and a missing or too long time', async () => {
  const lanes = await ownLane();
  const silence = async (...args: readonly string[]) => {
    const { code, stderr } = await runCli(['alerts', 'silence', ...args, '--yes', '--database', lanes.url]);
    return `${code} ${stderr}`;
  };

  expect(await silence('failling', '--for', '2h')).toMatch(/^[12] OUTBOX_OPTION_INVALID: .*rule.*'failed'/);
  expect(await silence('failed', '--for', '31d')).toMatch(/^[12] OUTBOX_OPTION_INVALID: .*for.*30 days/);
  expect(await silence('failed')).toMatch(/^2 OUTBOX_COMMAND_INVALID: Say for how long/);
});

test('alerts test tells each destination of the configuration, and says which did not accept it', async (context) => {
  const [hook, mail] = [await hookServer(context), await mailServer(context)];
  const folder = await mkdtemp(path.join(tmpdir(), 'outbox-alerts-'));
  context.onTestFinished(() => rm(folder, { recursive: true }));
  const file = path.join(folder, 'outbox.config.mjs');
  const run = async (to: object) => {
    const library = new URL('../../../dist/src/index.js', import.meta.url).href;
    const transports = new URL('../../../dist/src/transports.js', import.meta.url).href;
    await writeFile(
      file,
      `import { topic } from ${JSON.stringify(library)};
       import { print } from ${JSON.stringify(transports)};
       import { z } from ${JSON.stringify(import.meta.resolve('zod'))};
       export default { database: { url: 'postgresql://shop:secret@db.example/shop' }, topics: [topic('orders', z.object({}))],
         transports: { print: print() }, alerts: ${JSON.stringify({ to })} };`,
    );
    return runCliProcess(['alerts', 'test', '--config', file]);
  };
  const email = { server: mail.url, from: 'outbox@shop.example', to: ['ops@shop.example'] };

  expect(await run({ webhook: { url: hook.url }, email })).toMatchObject({
    code: 0,
    stdout: 'webhook accepted a test alert.\nemail accepted a test alert.\n',
  });
  expect(hook.posted[0]?.json.text).toBe(
    'temporal-outbox of shop at db.example:5432: test alert\nTEST: this is a test, and nothing is wrong. Next: temporal-outbox alerts',
  );
  expect(mail.mails[0]).toContain('Subject: temporal-outbox of shop at db.example:5432: test alert');
  hook.answer = 404;
  const wrong = { ...email, server: mail.url.replace('p%40ss', 'wrong') };
  const failed = await run({ webhook: { url: hook.url }, email: wrong });
  expect(failed).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^webhook did not: it answered 404\nemail did not: /),
  });
  expect(failed.stdout + failed.stderr).not.toMatch(/secret-path|wrong/);
  expect(await run({})).toMatchObject({
    code: expect.any(Number),
    stderr: expect.stringContaining('no destination of alerts'),
  });
});
