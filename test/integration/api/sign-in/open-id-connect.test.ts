// @module-tag callers-prove-themselves
import { inspect } from 'node:util';
import { afterAll, beforeAll, beforeEach, expect, type TestContext, test } from 'vitest';
import { openIdConnect } from '../../../../src/api/sign-in/open-id-connect.ts';
import type { OpenIdConnectOptions } from '../../../../src/api/sign-in/open-id-connect-options.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/fixtures/database.ts';
import { Browser } from './browser.ts';
import { type LocalProvider, startProvider } from './local-provider.ts';
import { opened, optionsOf, redirectUrl } from './sign-in-bench.ts';

let made: TestDatabase;
let provider: LocalProvider;
beforeAll(async () => {
  made = await createTestDatabase();
  provider = await startProvider(redirectUrl);
});
afterAll(async () => {
  await provider.stop();
  await made.drop();
});
beforeEach(async () => {
  provider.account = {
    sub: 'u-1',
    email: 'ada@example.com',
    email_verified: true,
    groups: ['everybody', 'outbox-admins'],
  };
  await made.database.query('truncate outbox.api_session, outbox.audit');
});

function browser(context: TestContext, more: Partial<OpenIdConnectOptions> = {}, at = provider): Browser {
  return new Browser(opened(context, { ...optionsOf(at, made.url), ...more }));
}

const ada = { name: 'ada@example.com', role: 'admin', payloads: true, ambient: true };
const sessionCount = async (): Promise<number> =>
  (await made.database.query('select from outbox.api_session')).length;
const auditOf = () => made.database.query('select actor, action, result from outbox.audit order by id');

test('a person signs in, is whoever the claim says, and signs out for all processes', async (context) => {
  const [one, other] = [browser(context), browser(context)];
  expect(await one.who()).toBeUndefined();
  const page = await one.signIn();
  expect(page.status).toBe(200);
  expect(await page.text()).toContain('url=/"');
  expect(await one.who()).toEqual(ada);

  other.cookies.set('__Host-outbox', one.cookies.get('__Host-outbox') ?? '');
  expect(await other.who()).toEqual(ada);
  const headers = { 'sec-fetch-site': 'same-origin' };
  expect((await one.go('/sign-out', { method: 'POST', headers })).status).toBe(200);
  expect(one.cookies.has('__Host-outbox')).toBe(false);
  // Who has kept the cookie is nobody.
  expect(await other.who()).toBeUndefined();
  expect(await auditOf()).toEqual([
    { actor: 'ada@example.com', action: 'signIn', result: 'signed-in' },
    { actor: 'ada@example.com', action: 'signOut', result: 'signed-out' },
  ]);
});

test('cookies are of this host, over TLS, hidden from scripts and other sites, and random', async (context) => {
  const one = browser(context);
  await one.go('/sign-in');
  expect(one.set).toEqual([
    expect.stringMatching(
      /^__Host-outbox-sign-in=[\w-]{100,}; Path=\/; HttpOnly; Secure; SameSite=Lax; Max-Age=600$/,
    ),
  ]);
  const ids = new Set<string>();
  for (let round = 0; round < 3; round += 1) {
    await one.signIn();
    expect(one.set).toEqual([
      // 22 characters of base64url: 128 bits.
      expect.stringMatching(/^__Host-outbox=[\w-]{22}; Path=\/; HttpOnly; Secure; SameSite=Strict$/),
      '__Host-outbox-sign-in=; Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=0',
    ]);
    ids.add(one.cookies.get('__Host-outbox') ?? '');
  }
  expect(ids.size).toBe(3);
  // Each sign-in has ended the session before it.
  expect(await sessionCount()).toBe(1);
});

test('the id of a session is not in the database', async (context) => {
  const one = browser(context);
  await one.signIn();
  const [row] = await made.database.query<object>('select s.* from outbox.api_session s');
  expect(row).toMatchObject({ id_hash: expect.stringMatching(/^[0-9a-f]{64}$/) as string });
  expect(JSON.stringify(row)).not.toContain(one.cookies.get('__Host-outbox'));
});

test('an id that was planted in the browser is not the one of its session', async (context) => {
  const [victim, attacker] = [browser(context), browser(context)];
  await attacker.signIn();
  const planted = attacker.cookies.get('__Host-outbox') ?? '';
  for (const id of [planted, 'AAAAAAAAAAAAAAAAAAAAAA']) {
    victim.cookies.set('__Host-outbox', id);
    await victim.signIn();
    expect(victim.cookies.get('__Host-outbox')).not.toBe(id);
    expect(await victim.who()).toEqual(ada);
    attacker.cookies.set('__Host-outbox', id);
    expect(await attacker.who()).toBeUndefined();
  }
});

/** What happens to a session in the database, and whether it is still one. */
const ages = [
  { set: "used_at = now() - interval '15 minutes 1 second'", lives: false },
  { set: "used_at = now() - interval '14 minutes'", lives: true },
  { set: "begun_at = now() - interval '8 hours 1 second'", lives: false },
  { set: "begun_at = now() - interval '7 hours'", lives: true },
];

test('a session ends 15 minutes after its last request, and 8 hours after the sign-in', async (context) => {
  const one = browser(context);
  for (const { lives, set } of ages) {
    await one.signIn();
    await made.database.query(`update outbox.api_session s set ${set}`);
    expect([set, await one.who()]).toEqual([set, lives ? ada : undefined]);
  }
  // A request has begun the idle time again.
  await made.database.query("update outbox.api_session s set used_at = now() - interval '14 minutes'");
  await one.who();
  expect(
    await made.database.query(
      "select from outbox.api_session s where s.used_at > now() - interval '1 minute'",
    ),
  ).toHaveLength(1);
});

test('a sign-in deletes what has ended', async (context) => {
  const one = browser(context);
  await one.signIn();
  await made.database.query("update outbox.api_session s set used_at = now() - interval '1 hour'");
  await browser(context).signIn();
  expect(await sessionCount()).toBe(1);
});

test.each([
  { what: 'no value of the claim', told: {} },
  {
    what: 'a longer value',
    told: { groups: ['not-outbox-admins', 'outbox-admins-emeriti', 'OUTBOX-ADMINS'] },
  },
  { what: 'a value that is no text', told: { groups: [['outbox-admins'], 0, null] } },
  { what: 'a name of every object', told: { groups: ['constructor', '__proto__', 'toString'] } },
])('$what gives no rights, and the audit says who came', async ({ told }) => {
  provider.account = { sub: 'u-2', email: 'eve@example.com', email_verified: true, ...told };
  const own = openIdConnect(optionsOf(provider, made.url));
  const one = new Browser(own);
  const refused = await one.signIn();
  expect([refused.status, await refused.json()]).toEqual([
    403,
    expect.objectContaining({ code: 'OUTBOX_REQUEST_DENIED' }),
  ]);
  expect([...one.cookies.keys()]).toEqual([]);
  expect(await sessionCount()).toBe(0);
  expect(await auditOf()).toEqual([{ actor: 'eve@example.com', action: 'signIn', result: 'denied' }]);
  await own.close?.();
});

test('the first value in the configuration decides alone, and a change of it holds for those who are signed in', async (context) => {
  provider.account = { ...provider.account, groups: ['outbox-orders', 'outbox-admins'] };
  const one = browser(context);
  await one.signIn();
  expect(await one.who()).toEqual(ada);
  const roles = (values: OpenIdConnectOptions['roles']['values']) => ({ roles: { claim: 'groups', values } });
  const later = browser(context, roles({ 'outbox-orders': { role: 'viewer', topics: ['orders'] } }));
  const gone = browser(context, roles({ others: { role: 'admin' } }));
  for (const each of [later, gone]) each.cookies.set('__Host-outbox', one.cookies.get('__Host-outbox') ?? '');
  expect(await later.who()).toEqual({ ...ada, role: 'viewer', payloads: false, topics: ['orders'] });
  expect(await gone.who()).toBeUndefined();
});

test('an address that is not verified names nobody, and gives no rights', async (context) => {
  const roles = { claim: 'email', values: { 'ada@example.com': { role: 'admin' as const } } };
  provider.account = {
    sub: 'u-3',
    email: 'ada@example.com',
    email_verified: false,
    groups: ['outbox-admins'],
  };
  const one = browser(context);
  await one.signIn();
  expect(await one.who()).toMatchObject({ name: 'u-3' });
  expect((await browser(context, { roles }).signIn()).status).toBe(403);
  provider.account = { ...provider.account, email_verified: true };
  const verified = browser(context, { roles });
  await verified.signIn();
  expect(await verified.who()).toMatchObject({ name: 'ada@example.com', role: 'admin' });
});

test('a claim that the ID token lacks is asked for', async (context) => {
  const conforming = await startProvider(redirectUrl, true);
  context.onTestFinished(() => conforming.stop());
  conforming.account = provider.account;
  const one = browser(context, {}, conforming);
  await one.signIn();
  expect(await one.who()).toEqual(ada);
});

test('a session of one provider is nobody at another', async (context) => {
  const one = browser(context);
  await one.signIn();
  const other = browser(context, { clientId: 'another' });
  other.cookies.set('__Host-outbox', one.cookies.get('__Host-outbox') ?? '');
  expect(await other.who()).toBeUndefined();
  expect(await one.who()).toEqual(ada);
});

test('a cookie that comes twice, or is not of our form, is nobody', async (context) => {
  const one = browser(context);
  await one.signIn();
  const id = one.cookies.get('__Host-outbox') ?? '';
  const who = (cookie: string) =>
    one.authentication.caller(new Request('https://outbox.test/me', { headers: { cookie } }));
  expect(await who(`__Host-outbox=${id}`)).toEqual(ada);
  for (const cookie of [
    `__Host-outbox=${id}; __Host-outbox=AAAAAAAAAAAAAAAAAAAAAA`,
    `__Host-outbox=${id}x`,
    `outbox=${id}`,
    "__Host-outbox=' or true --",
  ])
    expect([cookie, await who(cookie)]).toEqual([cookie, undefined]);
});

test('while the provider is away, nobody signs in, and who has signed in stays so', async (context) => {
  const leaving = await startProvider(redirectUrl);
  leaving.account = provider.account;
  const [one, begun] = [browser(context, {}, leaving), browser(context, {}, leaving)];
  await one.signIn();
  const back = await begun.comeBack();
  await leaving.stop();
  expect(await one.who()).toEqual(ada);
  const away = { code: 'OUTBOX_SERVER_UNAVAILABLE' };
  await expect(begun.go(back)).rejects.toMatchObject(away);
  await expect(browser(context, {}, leaving).go('/sign-in')).rejects.toMatchObject(away);
  expect(await begun.who()).toBeUndefined();
});

test('a provider that was away at first is asked again', async (context) => {
  const issuer = { ...provider };
  const late = browser(context, { issuer: () => issuer.issuer });
  issuer.issuer = 'http://127.0.0.1:9';
  await expect(late.go('/sign-in')).rejects.toMatchObject({ code: 'OUTBOX_SERVER_UNAVAILABLE' });
  issuer.issuer = provider.issuer;
  expect((await late.go('/sign-in')).status).toBe(303);
});

test('while the database is away, that is said, and nobody is let in', {}, async (context) => {
  const away = browser(context, { database: { url: 'postgresql://nobody:hidden@127.0.0.1:9/outbox' } });
  away.cookies.set('__Host-outbox', 'AAAAAAAAAAAAAAAAAAAAAA');
  await expect(away.who()).rejects.toMatchObject({ code: 'OUTBOX_SERVER_UNAVAILABLE' });
  await expect(away.signIn()).rejects.toMatchObject({ code: 'OUTBOX_SERVER_UNAVAILABLE' });
  expect(away.cookies.get('__Host-outbox')).toBe('AAAAAAAAAAAAAAAAAAAAAA');
});

test('a wrong secret of the client is told apart, and not repeated', async (context) => {
  const wrong = browser(context, { clientSecret: 'wrong-secret-of-the-client' });
  const failure = await wrong.signIn().catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: 'OUTBOX_SERVER_REFUSED' });
  expect(inspect(failure, { depth: 9 })).not.toContain('wrong-secret-of-the-client');
});

test('after a refusal the secret of the client is read again, as it may have been renewed', async (context) => {
  let clientSecret = 'expired-secret-of-the-client';
  const one = browser(context, { clientSecret: () => clientSecret });
  await expect(one.signIn()).rejects.toMatchObject({ code: 'OUTBOX_SERVER_REFUSED' });
  ({ clientSecret } = provider);
  await one.signIn();
  expect(await one.who()).toEqual(ada);
});

test('other sites cannot sign a person out, and no link does', async (context) => {
  const one = browser(context);
  await one.signIn();
  for (const headers of [
    {},
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'https://evil.test' },
  ])
    expect((await one.go('/sign-out', { method: 'POST', headers })).status).toBe(403);
  expect((await one.go('/sign-out')).status).toBe(405);
  expect((await one.go('/sign-in', { method: 'POST' })).status).toBe(405);
  expect(await one.who()).toEqual(ada);
});

test('only the paths beside the callback are its own', async (context) => {
  const { authentication } = browser(context, { redirectUrl: 'https://outbox.test/ops/callback' });
  const answers = (path: string) =>
    authentication.handle?.(new Request(`https://outbox.test${path}`, { method: 'PUT' }));
  expect((await answers('/ops/sign-in'))?.status).toBe(405);
  for (const path of ['/sign-in', '/ops', '/ops/', '/ops/sign-in/', '/opsx/sign-in', '/ops/messages'])
    expect([path, await answers(path)]).toEqual([path, undefined]);
});
