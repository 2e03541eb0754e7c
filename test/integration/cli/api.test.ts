import { readFile, writeFile } from 'node:fs/promises';
import { expect, inject, type TestContext, test } from 'vitest';
import { bearerTokens } from '../../../src/config/bearer-tokens.ts';
import { runCli } from '../../support/fixtures/cli.ts';
import { configFile, startCli } from '../../support/fixtures/cli-process.ts';
import { ownDatabase } from '../../support/fixtures/database.ts';
import { logLinesOf } from '../../support/fixtures/log-lines.ts';
import { until } from '../../support/fixtures/until.ts';

const nowhere = 'postgresql://someone:not-to-be-seen@127.0.0.1:1/nowhere';

const configOf = (context: TestContext, url = nowhere): Promise<string> =>
  configFile(context, { url, temporal: inject('temporalAddress') });

test('without authentication the API is not served', {
  tags: ['api-shows-nothing-without-right', 'log-has-one-schema'],
}, async (context) => {
  const config = await configOf(context);
  const refused = startCli(context, ['api', '--port', '0', '--json', '--config', config]);
  const exposed = startCli(context, ['api', '--without-sign-in', '--host', '0.0.0.0', '--config', config]);
  expect(await refused.exited).toBe(1);
  expect(logLinesOf(refused)).toMatchObject([
    { level: 'error', event: 'ended', code: 'OUTBOX_CONFIG_MISSING' },
  ]);
  expect(await exposed.exited).toBe(2);
  expect(exposed.stderr()).toContain('--without-sign-in is for a loopback address only');
});

test('without sign-in it answers on the loopback address, and stops on SIGTERM', async (context) => {
  const config = await configOf(context, (await ownDatabase()).url);
  const api = startCli(context, ['api', '--without-sign-in', '--port', '0', '--json', '--config', config]);
  await until(() => api.stdout().includes('"ready"'), 60_000);
  const { url } = JSON.parse(api.stdout()) as { url: string };
  expect(await (await fetch(`${url}/me`)).json()).toMatchObject({ role: 'admin', payloads: true });
  expect((await fetch(`${url}/status`)).status).toBe(200);

  const live = await fetch(`${url}/events`);
  api.signal('SIGTERM');
  expect(await api.exited).toBe(0);
  expect(await live.text()).toContain('retry: 2000');
});

test('every line of the API has the schema of logs, on one stream: start, failed requests, stop and end', {
  tags: ['log-has-one-schema'],
}, async (context) => {
  const config = await configOf(context);
  const api = startCli(context, ['api', '--without-sign-in', '--port', '0', '--config', config]);
  await until(() => api.stdout().includes('"ready"'), 60_000);
  const [ready] = logLinesOf(api);
  const { status } = await fetch(`${String(ready?.['url'])}/status`);
  expect(status).toBe(503);
  api.signal('SIGTERM');
  expect(await api.exited).toBe(0);

  const lines = logLinesOf(api);
  expect(lines.map(({ event, level }) => `${level} ${event}`)).toEqual([
    'info ready',
    'error request-failed',
    'info stopping',
    'info stopped',
  ]);
  expect(new Set(lines.map(({ component }) => component))).toEqual(new Set(['temporal-outbox api']));
  expect(lines.map(({ time }) => time)).toEqual(lines.map(({ time }) => time).toSorted());
  expect(api.stderr(), 'everything is on one stream').toBe('');
  expect(api.stdout()).not.toContain('not-to-be-seen');
});

test('with authentication of the configuration it answers to whom that proves', async (context) => {
  const config = await configOf(context, (await ownDatabase()).url);
  const api = `{ authentication: { caller: async (request) => request.headers.get('authorization') === 'Bearer right'
    ? { name: 'ada', role: 'viewer', payloads: false, ambient: false } : undefined } }`;
  await writeFile(config, (await readFile(config, 'utf8')).replace('topics: [', `api: ${api},\n  topics: [`));
  const served = startCli(context, ['api', '--port', '0', '--json', '--config', config]);
  await until(() => served.stdout().includes('"ready"'), 60_000);
  const { url } = JSON.parse(served.stdout()) as { url: string };
  expect((await fetch(`${url}/me`)).status).toBe(401);
  const right = await fetch(`${url}/me`, { headers: { authorization: 'Bearer right' } });
  expect(await right.json()).toMatchObject({ name: 'ada', role: 'viewer' });
});

test('api-token makes another token each time, and the hash that lets it in', async () => {
  const making = async () => {
    const { code, stdout } = await runCli(['api-token', '--json']);
    expect(code).toBe(0);
    return JSON.parse(stdout) as { token: string; hash: string };
  };
  const [first, second] = [await making(), await making()];
  const authentication = bearerTokens([{ name: 'ci', hash: first.hash, role: 'viewer' }]);
  const who = (token: string) =>
    authentication.caller(new Request('http://api.test', { headers: { authorization: `Bearer ${token}` } }));
  expect(await who(first.token)).toMatchObject({ name: 'ci' });
  expect(await who(second.token)).toBeUndefined();
});

test('api-password hashes what is typed, and refuses a short one without repeating it', async () => {
  expect(await runCli(['api-password'], {}, 'correct horse battery\n')).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^scrypt\$131072\$8\$1\$/),
    stderr: '',
  });
  const refused = await runCli(['api-password'], {}, 'horse\n');
  expect(refused).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('12 characters') });
  expect(refused.stderr).not.toContain('horse');
});
