import { expect, test } from 'vitest';
import { createBulkRunner } from '../../../src/bulk/bulk-runner.ts';
import { type CliEnd, runCli } from '../../support/fixtures/cli.ts';
import { startCli } from '../../support/fixtures/cli-process.ts';
import { type KeptFixture, keptFixture } from '../../support/fixtures/kept-fixture.ts';
import { until } from '../../support/fixtures/until.ts';

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

test('changes of kept messages are of one group, by ids or by a filter', async (end) => {
  const { fixture, cli } = await openStage(end);
  const ids: string[] = [];
  for (const label of ['A', 'B']) ids.push(await fixture.keep(label, { state: 'failed', key: label }));
  const [a = '', b = ''] = ids;

  expect(await cli('retry', a, '--yes', '--reason', 'it was the network')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/A-.* +A +retried +parked/),
  });
  expect(await fixture.audit()).toMatchObject([{ id: a, action: 'retry', reason: 'it was the network' }]);
  const ends = await Promise.all([
    cli('discard', 'nobody', '--yes'),
    cli('discard', b, '--state', 'failed', '--yes'),
    runCli(['inbox', 'discard', b, '--yes'], { DATABASE_URL: fixture.url }),
    cli('retry', b, '--yes', '--wait'),
    cli('retry', '--older-than', 'soon', '--reason', 'why', '--yes'),
    cli('show', 'nobody'),
  ]);
  expect(ends.map(({ code }) => code)).toEqual([1, 2, 2, 2, 2, 1]);
  expect(ends[3]?.stderr).toContain('--rate, --expect and --wait need a filter.\n');
  expect(await fixture.states(b)).toEqual(['failed']);
});

test('Ctrl-C leaves a bulk change running, and what it printed follows it until consumers of the group have done it', async (end) => {
  const { fixture } = await openStage(end);
  const id = await fixture.keep('A', { state: 'failed' });
  const filter = ['--group', fixture.group, '--failed-with', 'error', '--reason', 'why', '--rate', '100'];
  const env = { DATABASE_URL: fixture.url, USER: 'grace' };
  const waiting = startCli(end, ['inbox', 'discard', ...filter, '--yes', '--wait'], env);
  await until(() => waiting.stdout().includes('0 of 1 messages'));
  waiting.signal('SIGINT');
  expect(await waiting.exited).toBe(0);
  const [bulk] = await fixture.operator.inbox.bulk.list();
  expect(bulk).toMatchObject({ state: 'running', counts: {} });
  const bulkId = bulk?.id ?? '';
  const began = `${bulk?.createdAt.toISOString().slice(0, 16)}Z`;
  await until(() => waiting.stdout().includes(`To follow it: temporal-outbox bulk show ${bulkId} --wait\n`));
  expect(waiting.stdout()).toContain(
    `${bulkId}  discard  running\n  filter: failed with error, states parked,failed; started ${began}\n  0 of 1 messages (0 %), at least 10ms left\n  of the group ${fixture.group}\n  by grace: why\n`,
  );

  const following = startCli(end, ['bulk', 'show', bulkId, '--wait'], env);
  await runBulk(fixture, bulkId);
  expect(await following.exited).toBe(0);
  await until(() => /1 of 1 messages \(100 %\)\n +answers: 1 discarded\n/.test(following.stdout()));
  expect(await fixture.states(id)).toEqual(['discarded']);
  const list = await runCli(['bulk', 'list'], env);
  expect(list.stdout).toMatch(
    new RegExp(`${bulkId} +discard +done +1/1 .*\\n  of the group ${fixture.group}\\n`),
  );
});
