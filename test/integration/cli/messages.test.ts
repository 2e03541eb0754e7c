import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CliEnd, runCli } from '../../support/fixtures/cli.ts';
import { ownDatabase } from '../../support/fixtures/database.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import { auditOf, failAll } from '../../support/fixtures/operator.ts';

let fixture: LaneFixture;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'outbox-cli-'));
});
afterAll(() => rm(folder, { recursive: true }));
eachLane((made) => {
  fixture = made;
});

/** One command against the fixture's database, by a user of the system named grace. */
function cli(...args: readonly string[]): Promise<CliEnd> {
  return runCli(args, { DATABASE_URL: fixture.url, USER: 'grace' });
}

/** The flags of a configuration of one topic with this schema. */
async function configOf(schema: string, more = ''): Promise<readonly string[]> {
  const sources = path.resolve(import.meta.dirname, '../../../dist/src');
  const file = path.join(folder, `${randomUUID()}.config.ts`);
  await writeFile(
    file,
    `import { z } from '${path.resolve(sources, '../../node_modules/zod')}';
     import { defineConfig, topic } from '${sources}/index.js';
     import { print } from '${sources}/transports.js';
     export default defineConfig({ ${more} topics: [topic('orders', ${schema})], transports: { scripted: print() } });`,
  );
  return ['--config', file];
}

function timelineOf(stdout: string): readonly string[] {
  const lines = stdout.split('\n');
  return lines.slice(lines.findIndex((line) => line.startsWith('TIME')));
}

async function json(...args: readonly string[]): Promise<unknown> {
  return JSON.parse((await cli(...args, '--json')).stdout);
}

test('list and show print the messages and why they wait, within 80 columns and without a payload', async () => {
  await failAll(fixture, ['secret']);
  await fixture.send('waiting', {
    key: `key\u001b[31m${'k'.repeat(60)}`,
    ref: 'order-42',
    afterMs: 3_600_000,
  });

  const [list, show, failed] = await Promise.all([
    cli('list'),
    cli('show', fixture.idOf('waiting')),
    cli('show', fixture.idOf('secret')),
  ]);

  expect(list).toMatchObject({ code: 0, stderr: '' });
  expect(list.stdout).toMatch(
    new RegExp(`${fixture.idOf('secret')} +orders +failed.*\n +1 try, refused by the script`),
  );
  expect(Math.max(...list.stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
  expect(show.stdout).toMatch(/state {7}waiting: It is due in (?:59 min \d+ s|1 h 0 min)/);
  const all = `${list.stdout}${show.stdout}${failed.stdout}`;
  expect(all, 'control characters are shown, not done').not.toContain('\u001b');
  expect(all).not.toContain('secret');
  expect((await cli('show', fixture.idOf('secret'), '--payload')).stdout).toContain('"secret"');
});

test('list prints the error of a message until it is delivered', async () => {
  await failAll(fixture, ['A']);
  expect((await cli('list')).stdout).toContain('1 try, refused by the script');
  fixture.broker.judge = () => 'store';
  await cli('retry', fixture.idOf('A'), '--yes');
  await fixture.drain();

  const { stdout } = await cli('list');
  expect(stdout).toContain('published');
  expect(stdout).not.toContain('refused by the script');
});

test('show names the groups of its database that keep a message, and the command that shows it there', async () => {
  await fixture.send('A');
  await fixture.send('B');
  await fixture.drain();
  const id = fixture.idOf('A');
  for (const group of ['billing', 'audit'])
    await fixture.database.query(
      `insert into outbox.parked (consumer_group, message_id, state, topic, address, partition, "offset", wire, sent_at)
       values ($1, $2, 'failed', 'orders', 'orders', 0, '0', '{}', now())`,
      [group, id],
    );

  const { stdout } = await cli('show', id);
  expect(stdout).toContain('published: It is published, but the group audit keeps it, failed.');
  expect(stdout).toMatch(/TIME +WHAT +WHERE +DETAIL/);
  expect(Math.max(...timelineOf(stdout).map((line) => line.length))).toBeLessThanOrEqual(80);
  for (const group of ['billing', 'audit'])
    expect(stdout).toContain(
      `kept        by the group ${group}, failed: temporal-outbox inbox show ${id} --group ${group}`,
    );
  expect(await json('show', id)).toMatchObject({
    keptBy: [
      { group: 'audit', state: 'failed' },
      { group: 'billing', state: 'failed' },
    ],
  });
  expect(await json('show', fixture.idOf('B'))).toMatchObject({ keptBy: [] });
});

test('show reads the databases of the groups of the configuration', async () => {
  const inbox = await ownDatabase();
  await fixture.send('A');
  await fixture.drain();
  const id = fixture.idOf('A');
  await inbox.database.query(
    `insert into outbox.processed (consumer_group, message_id) values ('billing', $1)`,
    [id],
  );
  const config = await configOf(
    'z.string()',
    `database: { url: '${fixture.url}' }, groups: { billing: { database: { url: '${inbox.url}' } } },`,
  );

  const { stdout } = await cli('show', id, ...config);

  expect(stdout).toContain('published: It is published; the group billing committed the effect.');
  expect(stdout).toMatch(/handled +group billing +effect committed/);
});

test('a change needs --yes without a terminal, records the system user, and ends by whether it did all, some or none', async () => {
  await failAll(fixture, ['A', 'B']);
  await fixture.send('C');
  await fixture.drain();
  const [a = '', b = '', c = ''] = ['A', 'B', 'C'].map((label) => fixture.idOf(label));

  expect(await cli('retry', a)).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') });
  expect(await fixture.states('A')).toEqual(['failed']);
  expect(await cli('discard', a, c, '--yes', '--reason', 'a test')).toMatchObject({
    code: 4,
    stdout: expect.stringMatching(new RegExp(`${a} +orders +discarded +discarded`)),
  });
  expect((await auditOf(fixture))[0]).toMatchObject({
    actor: 'grace',
    action: 'discard',
    result: 'discarded',
    reason: 'a test',
  });
  const ends = [[c], [b], ['no-id'], []].map((ids) => cli('discard', ...ids, '--yes'));
  expect(
    (await Promise.all(ends)).map(({ code }) => code),
    'there is no operation on everything',
  ).toEqual([1, 0, 2, 2]);
});

test('cancel and reschedule take a ref, and a dry run changes nothing', async () => {
  const ref = ['--topic', 'orders', '--ref', 'order-42'];
  await fixture.send('A', { ref: 'order-42', afterMs: 3_600_000 });

  expect(await json('cancel', ...ref, '--dry-run')).toMatchObject({
    ok: true,
    dryRun: true,
    answers: [{ result: 'canceled' }],
  });
  expect(await json('reschedule', ...ref, '--after', '2h', '--yes')).toMatchObject({
    answers: [{ result: 'rescheduled' }],
  });
  const shown = await json('show', fixture.idOf('A'));
  expect(shown).toMatchObject({
    why: { text: expect.stringMatching(/^It is due in (?:2 h 0 min|1 h 59 min)/) },
  });
  expect(await json('cancel', ...ref, '--yes')).toMatchObject({ answers: [{ result: 'canceled' }] });
  const bad = [
    cli('reschedule', ...ref, '--yes'),
    cli('cancel', '--topic', 'orders', '--ref', 'none', '--yes'),
  ];
  expect((await Promise.all(bad)).map(({ code }) => code)).toEqual([2, 1]);
});

test('edit reads the payload from a file and the schema from the configuration', async () => {
  await failAll(fixture, ['A']);
  const id = fixture.idOf('A');
  await writeFile(path.join(folder, 'bad.json'), '{ "n": "one" }');
  await writeFile(path.join(folder, 'good.json'), '{ "n": 1 }\n');
  const config = [...(await configOf('z.object({ n: z.number() })')), '--yes'];

  const refused = await cli('edit', id, '--payload-file', path.join(folder, 'bad.json'), ...config);
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('OUTBOX_PAYLOAD_INVALID') });
  const edited = await json(
    'edit',
    id,
    '--payload-file',
    path.join(folder, 'good.json'),
    '--header',
    'why=bug',
    ...config,
  );
  expect(edited).toMatchObject({ ok: true, supersedes: id });
  await fixture.drain();
  expect(fixture.broker.log).toMatchObject([{ payload: '{ "n": 1 }', headers: { why: 'bug' } }]);
});

test('pause, withdraw and resume work in sequence', async () => {
  await fixture.send('A');
  await fixture.send('B');

  const dry = await Promise.all([cli('pause', 'orders', '--dry-run'), cli('resume', 'orders', '--dry-run')]);
  expect(dry).toMatchObject([
    { code: 0, stdout: 'Nothing was changed. The topic "orders" would be paused.\n' },
    { code: 0, stdout: 'Nothing was changed. The topic "orders" was not paused.\n' },
  ]);
  expect(await cli('pause', 'orders', '--yes')).toMatchObject({
    code: 0,
    stdout: 'The topic "orders" is paused, and relays have stopped.\n',
  });
  await fixture.drain();
  expect(await json('show', fixture.idOf('A'))).toMatchObject({ why: { code: 'topic-paused' } });
  expect(await json('withdraw', fixture.idOf('A'), '--yes')).toMatchObject({
    answers: [{ result: 'canceled' }],
  });
  expect(await cli('resume', 'orders', '--yes')).toMatchObject({ code: 0 });
  await fixture.drain();
  expect(fixture.broker.labels).toEqual(['B']);
  const bad = [cli('pause', '--yes'), cli('pause', 'ordres', '--yes')];
  expect(await Promise.all(bad)).toMatchObject([
    { code: 2 },
    { code: 2, stderr: expect.stringContaining('Next:') },
  ]);
});

test('prints the version of the package', async () => {
  const manifest = await readFile(path.resolve(import.meta.dirname, '../../../package.json'), 'utf8');
  const { version } = JSON.parse(manifest) as { readonly version: string };

  expect(await runCli(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
});
