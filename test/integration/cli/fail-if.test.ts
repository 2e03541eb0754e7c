import { expect, test } from 'vitest';
import { refusingServer } from '../../support/faults/refusing-server.ts';
import { runCli } from '../../support/fixtures/cli.ts';
import { ownLane } from '../../support/fixtures/lane-fixture.ts';
import { failAll } from '../../support/fixtures/operator.ts';

test('status --fail-if ends with 1 when a condition holds, and its first line says which, with the figure', {
  tags: ['state-by-exit-code'],
}, async () => {
  const fixture = await ownLane();
  await failAll(fixture, ['A', 'B']);
  const status = (...args: readonly string[]) =>
    runCli(['status', '--database', fixture.url, ...args.flatMap((each) => ['--fail-if', each])]);

  const [failed, passed, json, plain] = await Promise.all([
    status('oldest > 1 minute', 'failed > 0', 'failed > 1'),
    status('oldest > 1 minute', 'failed > 2'),
    runCli(['status', '--database', fixture.url, '--json', '--fail-if', 'failed >= 2', 'ready > 0']),
    status(),
  ]);

  expect(failed).toMatchObject({ code: 1, stderr: '' });
  expect(failed.stdout.split('\n')[0]).toBe('FAILED: failed > 0 (it is 2); failed > 1 (it is 2)');
  expect(failed.stdout, 'the tables follow').toMatch(/^orders +0 .* 2 /m);
  expect(passed).toMatchObject({ code: 0, stderr: '' });
  expect(passed.stdout.split('\n')[0]).toMatch(
    /^OK, none holds: oldest > 1 minute \(it is .+\); failed > 2 \(it is 2\)$/,
  );
  expect(json.code).toBe(1);
  expect(JSON.parse(json.stdout)).toMatchObject({
    ok: false,
    conditions: [
      { condition: 'failed >= 2', figure: 2, unit: 'count', holds: true },
      { condition: 'ready > 0', figure: 0, unit: 'count', holds: false },
    ],
    lanes: [{ failed: 2 }],
  });
  expect(plain.code).toBe(0);
  expect(plain.stdout).not.toContain('holds');
});

test('an unknown figure is a wrong use, also while PostgreSQL is away, which is 3 by itself', {
  tags: ['state-by-exit-code'],
}, async (context) => {
  const { address } = await refusingServer(context);
  const database = `postgresql://nobody@${address}/nowhere`;
  const [misspelt, away] = await Promise.all([
    runCli(['status', '--database', database, '--fail-if', 'falied > 0']),
    runCli(['status', '--database', database, '--fail-if', 'failed > 0']),
  ]);

  expect(misspelt).toMatchObject({ code: 2, stdout: '' });
  expect(misspelt.stderr).toContain('"falied" is no figure of the status; there are oldest, ready,');
  expect(away).toMatchObject({ code: 3, stdout: '' });
  expect(away.stderr).toContain(address);
});
