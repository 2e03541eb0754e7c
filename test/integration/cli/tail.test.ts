import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { refusingServer } from '../../support/faults/refusing-server.ts';
import { runCli } from '../../support/fixtures/cli.ts';
import { startCli } from '../../support/fixtures/cli-process.ts';
import { type LaneFixture, laneFixture } from '../../support/fixtures/lane-fixture.ts';
import { failAll } from '../../support/fixtures/operator.ts';
import { until } from '../../support/fixtures/until.ts';

let fixture: LaneFixture;
beforeAll(async () => {
  fixture = await laneFixture();
  await fixture.send('first');
  await failAll(fixture, ['secret'], 'K');
});
afterAll(() => fixture.drop());

test('tail writes a line for each message and change, without payloads, and ends with 0 on Ctrl-C', async (context) => {
  const env = { DATABASE_URL: fixture.url };
  const flags = ['--topic', 'orders', '--interval', '100ms'];
  const json = startCli(context, ['tail', '--json', '--last', '1', ...flags], env);
  const text = startCli(context, ['tail', '--state', 'failed,published', ...flags], env);
  await until(() => json.stdout() !== '' && text.stdout() !== '', 120_000);
  await fixture.send('next', { key: 'L' });
  await until(() => json.stdout().split('\n').length >= 3);
  await fixture.drain();
  await until(() => json.stdout().split('\n').length >= 4 && text.stdout().split('\n').length >= 4);
  for (const tail of [json, text]) tail.signal('SIGINT');

  expect(await Promise.all([json.exited, text.exited])).toEqual([0, 0]);
  const lines = json.stdout().trim().split('\n');
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { id: fixture.idOf('secret'), state: 'failed', key: 'K', topic: 'orders' },
    { id: fixture.idOf('next'), state: 'ready', key: 'L', gap: false },
    { id: fixture.idOf('next'), state: 'published' },
  ]);
  const time = String.raw`^\d\d:\d\d:\d\d  `;
  expect(text.stdout().trim().split('\n')).toEqual([
    expect.stringMatching(`${time}published   orders  ${fixture.idOf('first')}$`),
    expect.stringMatching(
      `${time}failed      orders  ${fixture.idOf('secret')}  key K, 1 try, refused by the script$`,
    ),
    expect.stringMatching(`${time}published   orders  ${fixture.idOf('next')}  key L$`),
  ]);
  expect(json.stderr() + text.stderr()).toBe('');
  expect(json.stdout() + text.stdout()).not.toContain('secret"');
});

test('tail ends when its reader has read enough', async () => {
  const main = path.resolve('dist/bin/temporal-outbox.js');
  const child = spawn(process.execPath, [main, 'tail', '--interval', '100ms', '--database', fixture.url], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const exited = once(child, 'exit');
  await once(child.stdout, 'data');
  child.stdout.destroy();
  await fixture.send('unread');

  expect(await exited).toEqual([0, null]);
});

test('wrong flags end tail with 2, a server that is away with 3', async (context) => {
  const { address } = await refusingServer(context);
  const ends = await Promise.all([
    runCli(['tail', '--database', fixture.url, '--topic', 'ordres']),
    runCli(['tail', '--database', fixture.url, '--state', 'gone']),
    runCli(['tail', '--database', fixture.url, '--interval', '1ms']),
    runCli(['tail', '--database', fixture.url, '--last', 'all']),
    runCli(['tail', '--database', `postgresql://nobody@${address}/nowhere`]),
  ]);

  expect(ends.map(({ code }) => code)).toEqual([2, 2, 2, 2, 3]);
  expect(ends.map(({ stdout }) => stdout).join('')).toBe('');
});
