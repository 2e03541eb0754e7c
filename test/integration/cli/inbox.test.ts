import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test, vi } from 'vitest';
import { createBulkRunner } from '../../../src/bulk/bulk-runner.ts';
import { type CliEnd, runCli } from '../../support/fixtures/cli.ts';
import { startCli } from '../../support/fixtures/cli-process.ts';
import { type KeptFixture, keptFixture } from '../../support/fixtures/kept-fixture.ts';
import { until } from '../../support/fixtures/until.ts';

// Each command is a process of its own, which a busy machine starts slowly.
vi.setConfig({ testTimeout: 240_000 });

interface Stage {
  readonly fixture: KeptFixture;
  /** One command about the fixture's group, by a user of the system named grace. */
  readonly cli: (...args: readonly string[]) => Promise<CliEnd>;
  readonly json: (...args: readonly string[]) => Promise<unknown>;
}

async function openStage(end: Parameters<typeof keptFixture>[0]): Promise<Stage> {
  const fixture = await keptFixture(end);
  const cli = (...args: readonly string[]) =>
    runCli(['inbox', ...args, '--group', fixture.group], { DATABASE_URL: fixture.url, USER: 'grace' });
  const json = async (...args: readonly string[]): Promise<unknown> =>
    JSON.parse((await cli(...args, '--json')).stdout);
  return { fixture, cli, json };
}

/** Carries out a bulk operation, as consumers of the group do. */
async function runBulk({ database }: KeptFixture, id: string): Promise<void> {
  const runner = createBulkRunner({ database, ended: () => undefined, failed: () => undefined });
  while ((await runner.runPage(id, () => undefined)).kind === 'more');
}

test('list, show and status print kept messages and their reasons, within 80 columns and without a body', async (end) => {
  const { fixture, cli, json } = await openStage(end);
  const failed = await fixture.keep('secret', { state: 'failed', key: null });
  const parked = await fixture.keep('parked', {
    key: `key\u001b[31m${'k'.repeat(60)}`,
    retryInMs: 3_600_000,
  });

  const [list, show, shown, everything, status] = await Promise.all([
    cli('list'),
    cli('show', parked),
    json('show', failed),
    runCli(['inbox', 'list'], { DATABASE_URL: fixture.url }),
    runCli(['status'], { DATABASE_URL: fixture.url }),
  ]);

  expect(list).toMatchObject({ code: 0, stderr: '' });
  expect(list.stdout).toMatch(/secret-.*… +failed +- +error +1\n +Error: the bank is closed/);
  for (const { stdout } of [list, everything])
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
  expect(everything.stdout).toContain(`group ${fixture.group.slice(0, 20)}`);
  expect(show.stdout).toMatch(
    /state {7}parked: Its last try failed: Error: the bank is closed\. It is tried in (?:59 min|1 h 0 min)/,
  );
  expect(show.stdout).toMatch(new RegExp(`workflow {4}[0-9a-f-]+/parked/${fixture.group}/`));
  expect(shown).toMatchObject({ ok: true, message: { id: failed, bodyBytes: 14 }, why: { code: 'failed' } });
  const all = `${list.stdout}${show.stdout}${everything.stdout}`;
  expect(all, 'control characters are shown, not done').not.toContain('\u001b');
  expect(`${all}${JSON.stringify(shown)}`).not.toContain('"n":');
  expect((await cli('show', failed, '--payload')).stdout).toContain('{"n":"secret"}');
  expect(status.stdout).toMatch(
    /CONSUMER GROUP +PARKED +SINCE +KEYS +BLOCKED +FAILED +SINCE +WINDOW +SEEN +LAG\n.* 1 +(?:\d+ min )?\S+ m?s +1 +0 +1 /,
  );
});

test('a change requires --yes without a terminal, records the system user, and its exit codes distinguish all, some and none', async (end) => {
  const { fixture, cli, json } = await openStage(end);
  const ids: string[] = [];
  for (const label of ['A', 'B', 'C']) ids.push(await fixture.keep(label, { state: 'failed', key: label }));
  const [a = '', b = '', c = ''] = ids;

  expect(await cli('retry', a)).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') });
  expect(await fixture.states(...ids)).toEqual(['failed', 'failed', 'failed']);
  expect(await json('retry', a, '--dry-run')).toMatchObject({
    ok: true,
    dryRun: true,
    answers: [{ result: 'retried' }],
  });
  expect(await cli('retry', a, '--yes', '--reason', 'it was the network')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/A-.* +A +retried +parked/),
  });
  expect(await fixture.audit()).toMatchObject([{ id: a, action: 'retry', reason: 'it was the network' }]);
  expect(await cli('discard', b, 'nobody', '--yes')).toMatchObject({ code: 4 });
  const ends = await Promise.all([
    cli('discard', 'nobody', '--yes'),
    cli('discard', c, '--yes'),
    cli('discard', '--yes'),
    cli('discard', c, '--state', 'failed', '--yes'),
    runCli(['inbox', 'discard', c, '--yes'], { DATABASE_URL: fixture.url }),
    cli('show', 'nobody'),
  ]);
  expect(ends.map(({ code }) => code)).toEqual([1, 0, 2, 2, 2, 1]);
});

test('a filter for many messages is counted in a dry run, then started with --yes and a reason, or with the expected count', async (end) => {
  const { fixture, cli, json } = await openStage(end);
  const ids: string[] = [];
  for (const label of ['A', 'B']) ids.push(await fixture.keep(label, { state: 'failed', key: label }));

  expect(await json('retry', '--state', 'failed', '--dry-run')).toMatchObject({
    ok: true,
    dryRun: true,
    count: 2,
    exact: true,
    sample: [{ id: ids[0] }, { id: ids[1] }],
  });
  const refused = await Promise.all([
    cli('retry', '--state', 'failed', '--yes'),
    cli('retry', '--state', 'failed', '--reason', 'why'),
    cli('retry', '--state', 'failed', '--reason', 'why', '--yes', '--expect', '3'),
    cli('retry', '--older-than', 'soon', '--reason', 'why', '--yes'),
    cli('retry', ids[0] ?? '', '--yes', '--wait'),
  ]);
  expect(refused.map(({ code }) => code)).toEqual([2, 2, 1, 2, 2]);
  expect(refused[4]?.stderr).toContain('--rate, --expect and --wait need a filter.\n');
  expect(await fixture.operator.inbox.bulk.list()).toEqual([]);

  const started = await cli('retry', '--failed-with', 'error', '--reason', 'why', '--yes', '--rate', '100');
  const [bulk] = await fixture.operator.inbox.bulk.list();
  const id = bulk?.id ?? '';
  expect(started).toMatchObject({ code: 0, stderr: '' });
  expect(started.stdout).toMatch(/^2 messages match; action: retry\.\nID +STATE/);
  const began = `${bulk?.createdAt.toISOString().slice(0, 16)}Z`;
  expect(started.stdout).toContain(
    `${id}  retry  running\n  filter: failed with error, states parked,failed; started ${began}\n  0 of 2 messages (0 %), at least 20ms left\n  of the group ${fixture.group}\n  by grace: why\n`,
  );
  expect(started.stdout).toMatch(
    new RegExp(
      `Consumers of the group run it in the background\\. To follow it: temporal-outbox bulk show ${id} --wait\n$`,
    ),
  );
  expect(await fixture.states(...ids), 'nobody carries it out').toEqual(['failed', 'failed']);

  const waiting = startCli(end, ['bulk', 'show', id, '--wait'], { DATABASE_URL: fixture.url });
  await runBulk(fixture, id);
  expect(await waiting.exited).toBe(0);
  await until(() => /2 of 2 messages \(100 %\)\n +answers: 2 retried\n/.test(waiting.stdout()));
  expect(await fixture.states(...ids)).toEqual(['parked', 'parked']);
  const list = await runCli(['bulk', 'list'], { DATABASE_URL: fixture.url });
  expect(list.stdout).toMatch(new RegExp(`${id} +retry +done +2/2 .*\\n  of the group ${fixture.group}\\n`));
});

test('Ctrl-C leaves a bulk change running and prints how to follow it', async (end) => {
  const { fixture } = await openStage(end);
  const id = await fixture.keep('A', { state: 'failed' });
  const args = [
    'inbox',
    'discard',
    '--group',
    fixture.group,
    '--state',
    'failed',
    '--reason',
    'why',
    '--yes',
    '--wait',
  ];
  const waiting = startCli(end, args, { DATABASE_URL: fixture.url });
  await until(() => waiting.stdout().includes('0 of 1 messages'));

  waiting.signal('SIGINT');

  expect(await waiting.exited).toBe(0);
  const [bulk] = await fixture.operator.inbox.bulk.list();
  expect(bulk).toMatchObject({ state: 'running', counts: {} });
  await until(() =>
    waiting.stdout().includes(`To follow it: temporal-outbox bulk show ${bulk?.id} --wait\n`),
  );
  await runBulk(fixture, bulk?.id ?? '');
  expect(await fixture.states(id)).toEqual(['discarded']);
});

test('edit reads the body from a file and the schema from the configuration', async (end) => {
  const { fixture, cli, json } = await openStage(end);
  const folder = await mkdtemp(path.join(tmpdir(), 'outbox-cli-'));
  end.onTestFinished(() => rm(folder, { recursive: true }));
  const sources = path.resolve(import.meta.dirname, '../../../dist/src');
  const file = (name: string) => path.join(folder, name);
  await writeFile(
    file('outbox.config.ts'),
    `import { z } from '${path.resolve(sources, '../../node_modules/zod')}';
     import { defineConfig, topic } from '${sources}/index.js';
     import { print } from '${sources}/transports.js';
     export default defineConfig({
       topics: [topic('orders', z.object({ n: z.number() }))], transports: { scripted: print() } });`,
  );
  await writeFile(file('bad.json'), '{ "n": "one" }');
  await writeFile(file('good.json'), '{ "n": 1 }\n');
  const id = await fixture.keep('A', { state: 'failed' });
  const edit = ['edit', id, '--config', file('outbox.config.ts'), '--yes', '--payload-file'];

  expect(await cli(...edit, file('bad.json'))).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('OUTBOX_PAYLOAD_INVALID'),
  });
  expect(await json(...edit, file('good.json'), '--header', 'why=bug')).toMatchObject({
    ok: true,
    supersedes: id,
  });

  const { messages } = await fixture.operator.inbox.list({ states: ['parked'] });
  const copy = await fixture.operator.inbox.show({ group: fixture.group, id: messages[0]?.id ?? '' });
  expect(copy.message).toMatchObject({ body: { text: '{ "n": 1 }' }, headers: { why: 'bug' } });
  expect(await cli(...edit, file('good.json'))).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('OUTBOX_CONFLICT'),
  });
});
