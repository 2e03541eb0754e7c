import { expect, test } from 'vitest';
import { type CliEnd, runCli } from '../../support/fixtures/cli.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import { ada, failAll, type Operator, ownOperator } from '../../support/fixtures/operator.ts';
import { startTestRelay } from '../../support/fixtures/test-relay.ts';

let fixture: LaneFixture;
let operator: Operator;
eachLane((made) => {
  fixture = made;
  operator = ownOperator(made);
});

const failed = ['--state', 'failed', '--reason', 'a test'];

/** One command against the fixture's database, without a terminal. */
function cli(...args: readonly string[]): Promise<CliEnd> {
  return runCli(args, { DATABASE_URL: fixture.url, USER: 'grace' });
}

test('a filter without --yes and without a terminal is shown but changes nothing', async () => {
  await failAll(fixture, ['A', 'B']);

  const [asked, dry, unreasoned, both] = await Promise.all([
    cli('retry', ...failed),
    cli('retry', '--state', 'failed', '--dry-run', '--json'),
    cli('discard', '--state', 'failed', '--yes'),
    cli('discard', fixture.idOf('A'), ...failed, '--yes'),
  ]);

  expect(asked).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Add --yes to do it, or --dry-run to see what would happen.\n'),
  });
  expect(asked.stdout).toContain('2 messages match; action: retry.');
  expect(asked.stdout).toContain(fixture.idOf('A'));
  expect(Math.max(...asked.stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100);
  expect(dry.code).toBe(0);
  expect(JSON.parse(dry.stdout)).toMatchObject({ ok: true, dryRun: true, count: 2, exact: true });
  expect(unreasoned).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('A change by a filter needs a --reason; --dry-run shows what matches.\n'),
  });
  expect(both).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Name messages by their ids or by a filter, not by both.\n'),
  });
  expect(await operator.bulk.list()).toEqual([]);
});

test('a change of more than 100 messages requires --expect with the exact count', async () => {
  await failAll(
    fixture,
    Array.from({ length: 101 }, (_, n) => `F${n}`),
  );

  const [unsaid, wrong] = await Promise.all([
    cli('discard', ...failed, '--yes'),
    cli('discard', ...failed, '--yes', '--expect', '100'),
  ]);
  expect(unsaid).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('More than 100 messages match: add --expect 101.\n'),
  });
  expect(unsaid.stdout).toContain(' The first:\nID ');
  // Who says how many there are has seen them.
  expect(wrong).toMatchObject({ code: 1, stdout: '101 messages match; action: discard.\n' });
  expect(wrong.stderr).toContain('OUTBOX_BULK_UNEXPECTED: 100 messages are expected, but 101 match.');
  expect(await operator.bulk.list()).toEqual([]);

  const right = await cli('discard', ...failed, '--yes', '--expect', '101', '--json');
  expect(right.code).toBe(0);
  expect(JSON.parse(right.stdout)).toMatchObject({
    ok: true,
    state: 'running',
    total: 101,
    actor: 'grace',
  });
});

test('with --wait a change by filter prints its outcome', async () => {
  await failAll(fixture, ['A', 'B', 'C']);
  const relay = await startTestRelay(fixture);
  try {
    const end = await cli('retry', ...failed, '--yes', '--wait');

    expect(end).toMatchObject({ code: 0, stderr: '' });
    expect(end.stdout).toContain('3 of 3 messages (100 %)');
    expect(end.stdout).toContain('answers: 3 retried');
    expect(end.stdout).toContain('by grace: a test');
  } finally {
    await relay.stop();
  }
});

test('bulk operations are listed, shown, paused and aborted', async () => {
  await failAll(fixture, ['A', 'B']);
  const { id } = await operator.bulk.start({ states: ['failed'] }, { action: 'retry' }, ada);
  const known = id ?? '';

  const [list, paused, unknown] = await Promise.all([
    cli('bulk', 'list'),
    cli('bulk', 'pause', known, '--yes', '--json'),
    cli('bulk', 'show', '00000000-0000-4000-8000-000000000000'),
  ]);
  expect(list.stdout).toMatch(new RegExp(`${known} +retry +(?:running|paused) +0/2 .* ada`));
  expect(list.stdout).toContain('states failed');
  expect((await cli('bulk', 'show', known)).stdout).toContain('filter: states failed; started 20');
  expect(Math.max(...list.stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100);
  expect(JSON.parse(paused.stdout)).toEqual({ ok: true, dryRun: false, changed: true, state: 'paused' });
  expect(unknown.code).toBe(1);
  expect(unknown.stderr).toContain('OUTBOX_BULK_UNKNOWN');
  const [again, dry] = await Promise.all([
    cli('bulk', 'pause', known, '--yes'),
    cli('bulk', 'resume', known, '--dry-run'),
  ]);
  expect(again).toMatchObject({ code: 1, stdout: 'Nothing to do: it is paused.\n' });
  expect(dry.stdout).toBe('Nothing was changed. This would happen:\nIt is running now.\n');
  expect((await cli('bulk', 'abort', known, '--yes')).stdout).toBe('It is aborted now.\n');
  expect(await operator.bulk.show(known)).toMatchObject({ state: 'aborted', answered: 0 });
});

test('a filter shifts due times, forward or backward', async () => {
  await fixture.send('A', { afterMs: 7_200_000 });
  const filter = ['--topic', 'orders', '--reason', 'a test'];
  const { stdout } = await cli('reschedule', ...filter, '--shift=-1h', '--yes', '--json');
  const { id } = JSON.parse(stdout) as { readonly id: string };
  expect((await operator.bulk.show(id)).arguments).toEqual({ shiftMs: -3_600_000 });
});
