import { createHash, randomBytes, scryptSync } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningApi, serveApi } from '../../../../src/api/serve.ts';
import { anyOf } from '../../../../src/api/sign-in/any-of.ts';
import { basicUsers } from '../../../../src/api/sign-in/basic-users.ts';
import { openIdConnect } from '../../../../src/api/sign-in/open-id-connect.ts';
import { bearerTokens } from '../../../../src/config/bearer-tokens.ts';
import { type ApiBench, openApi } from '../api-bench.ts';
import { throughProvider } from './browser.ts';
import { type LocalProvider, startProvider } from './local-provider.ts';
import { optionsOf, redirectUrl } from './sign-in-bench.ts';

const password = 'correct horse battery staple';
const token = randomBytes(32).toString('base64url');
const hash = createHash('sha256').update(token).digest('hex');
let bench: ApiBench;
let provider: LocalProvider;
let running: RunningApi;
let url: string;

function passwordHash(): string {
  const salt = randomBytes(16);
  const key = scryptSync(password, salt, 32, { N: 2 ** 14, r: 8, p: 1 });
  return `scrypt$16384$8$1$${salt.toString('base64url')}$${key.toString('base64url')}`;
}

beforeAll(async () => {
  provider = await startProvider(redirectUrl);
  provider.account = { sub: 'u-1', groups: ['outbox-admins'] };
  // The database of the bench is known once it is open.
  let databaseUrl = '';
  bench = await openApi(
    anyOf(
      bearerTokens([{ name: 'deploy', hash, role: 'operator' }]),
      basicUsers({
        users: [{ name: 'ada', hash: passwordHash(), role: 'viewer' }],
        database: { url: () => databaseUrl },
      }),
      openIdConnect({ ...optionsOf(provider, ''), database: { url: () => databaseUrl } }),
    ),
  );
  databaseUrl = bench.lane.url;
  running = await serveApi(bench.api, { host: '127.0.0.1', port: 0 });
  url = `http://127.0.0.1:${running.port}`;
});
afterAll(async () => {
  await running.stop();
  await provider.stop();
  await bench.lane.drop();
});

const basic = (name: string, given: string): string =>
  `Basic ${Buffer.from(`${name}:${given}`).toString('base64')}`;
const me = async (headers: Readonly<Record<string, string>>): Promise<readonly [number, unknown]> => {
  const response = await fetch(`${url}/me`, { headers });
  const { code, name } = (await response.json()) as { code?: string; name?: string };
  return [response.status, code ?? name];
};

test('without a proof nobody is answered, and told which there are', async () => {
  const response = await fetch(`${url}/status`);
  expect(response.status).toBe(401);
  expect(response.headers.get('www-authenticate')).toBe(
    'Bearer, Basic realm="temporal-outbox", charset="UTF-8"',
  );
});

test('a token, a password and a sign-in lead to the API, and a sign-out ends the last', async () => {
  expect(await me({ authorization: `Bearer ${token}` })).toEqual([200, 'deploy']);
  expect(await me({ authorization: basic('ada', password) })).toEqual([200, 'ada']);

  const begun = await fetch(`${url}/sign-in`, { redirect: 'manual' });
  expect(begun.status).toBe(303);
  const [kept = ''] = begun.headers.getSetCookie().map((one) => one.split(';')[0] ?? '');
  const back = await throughProvider(begun.headers.get('location') ?? '');
  const page = await fetch(`${url}${back}`, { headers: { cookie: kept } });
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  const [cookie = ''] = page.headers.getSetCookie().map((one) => one.split(';')[0] ?? '');
  expect(await me({ cookie })).toEqual([200, 'u-1']);

  // A browser sends the cookie by itself, so a change must come from the same origin.
  const pause = (headers: Readonly<Record<string, string>>) =>
    fetch(`${url}/pause`, {
      method: 'POST',
      headers: { cookie, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ topic: 'orders' }),
    });
  expect((await pause({ origin: 'https://evil.test' })).status).toBe(403);
  expect((await pause({ origin: url })).status).toBe(200);
  const ended = await fetch(`${url}/sign-out`, { method: 'POST', headers: { cookie, origin: url } });
  expect(ended.status).toBe(200);
  expect(await me({ cookie })).toEqual([401, 'OUTBOX_REQUEST_UNPROVED']);
});

test('the sixth wrong password in a minute is answered with 429, whatever address a header claims', {
  tags: ['callers-prove-themselves'],
}, async () => {
  for (let time = 0; time < 5; time += 1)
    expect(
      await me({ authorization: basic('eve', `wrong ${time}`), 'x-forwarded-for': `192.0.2.${time}` }),
    ).toEqual([401, 'OUTBOX_REQUEST_UNPROVED']);
  const limited = [429, 'OUTBOX_REQUEST_LIMITED'];
  expect(await me({ authorization: basic('eve', 'wrong'), 'x-forwarded-for': '192.0.2.9' })).toEqual(limited);
  // Counted by the address of the connection, as `ada` above, who comes from the same one, may still try.
  expect(await me({ authorization: basic('ada', password) })).toEqual([200, 'ada']);
});
