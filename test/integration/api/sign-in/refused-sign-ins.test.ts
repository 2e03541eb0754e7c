import { constants, createHmac, sign } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { openIdConnect } from '../../../../src/api/sign-in/open-id-connect.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/fixtures/database.ts';
import { Browser, throughProvider } from './browser.ts';
import {
  type Forgery,
  type ForgingProvider,
  signedBy,
  startForgingProvider,
  strangersKey,
} from './forging-provider.ts';
import { type LocalProvider, startProvider } from './local-provider.ts';
import { optionsOf, redirectUrl } from './sign-in-bench.ts';

let made: TestDatabase;
let local: LocalProvider;
let forging: ForgingProvider;
let open: Browser[] = [];
beforeAll(async () => {
  made = await createTestDatabase();
  [local, forging] = [await startProvider(redirectUrl), await startForgingProvider()];
  local.account = { sub: 'u-1', groups: ['outbox-admins'] };
});
afterAll(async () => {
  await Promise.all([local.stop(), forging.stop()]);
  await made.drop();
});
beforeEach(async () => {
  forging.forge = (right) => right;
  await made.database.query('truncate outbox.api_session');
});
afterEach(async () => {
  await Promise.all(open.map(async ({ authentication }) => authentication.close?.()));
  open = [];
});

function browserOf(provider: LocalProvider | ForgingProvider): Browser {
  const browser = new Browser(openIdConnect(optionsOf(provider, made.url)));
  open.push(browser);
  return browser;
}

/** Begins at the forging provider, and comes back with a code and the right state. */
async function forgedReturn(browser: Browser): Promise<string> {
  const begun = new URL((await browser.go('/sign-in')).headers.get('location') ?? '');
  forging.nonce = begun.searchParams.get('nonce') ?? '';
  return `/callback?code=any&state=${begun.searchParams.get('state')}`;
}

async function expectRefused(browser: Browser, path: string): Promise<void> {
  const response = await browser.go(path);
  const body = await response.text();
  expect([response.status, body]).toEqual([401, expect.stringContaining('OUTBOX_REQUEST_UNPROVED')]);
  // Neither what was sent nor what was answered is repeated.
  expect(body).not.toMatch(/code=|nonce|eyJ|secret|stack|\.ts:/);
  expect(browser.cookies.size).toBe(0);
  expect(await made.database.query('select from outbox.api_session')).toEqual([]);
}

test('the token that is forged below would be accepted', async () => {
  const browser = browserOf(forging);
  expect((await browser.go(await forgedReturn(browser))).status).toBe(200);
  expect(await browser.who()).toMatchObject({ name: 'u-1', role: 'admin' });
});

test('a name that the provider tells beside the ID token is the name of the person, also in the audit', async () => {
  forging.userinfo = {
    sub: 'u-1',
    email: 'ada@example.com',
    email_verified: true,
    groups: ['outbox-orders'],
  };
  const browser = browserOf(forging);
  expect((await browser.go(await forgedReturn(browser))).status).toBe(200);
  forging.userinfo = undefined;

  // What the signed token says counts first.
  expect(await browser.who()).toMatchObject({ name: 'ada@example.com', role: 'admin' });
  const [entry] = await made.database.query('select actor from outbox.audit order by id desc limit 1');
  expect(entry).toEqual({ actor: 'ada@example.com' });
});

const claims =
  (changed: Readonly<Record<string, unknown>>) =>
  (right: Forgery): Forgery => ({ ...right, claims: { ...right.claims, ...changed } });
const now = () => Math.floor(Date.now() / 1_000);

test.each<{ readonly what: string; readonly forge: (right: Forgery) => Forgery }>([
  { what: 'with another nonce', forge: claims({ nonce: 'another' }) },
  { what: 'without a nonce', forge: claims({ nonce: undefined }) },
  { what: 'for another client', forge: claims({ aud: 'another' }) },
  {
    what: 'for several clients, made for another',
    forge: claims({ aud: ['outbox', 'another'], azp: 'another' }),
  },
  { what: 'of another issuer', forge: claims({ iss: 'http://127.0.0.1:1' }) },
  { what: 'that has expired', forge: (right) => claims({ exp: now() - 31, iat: now() - 91 })(right) },
  { what: 'without an expiry', forge: claims({ exp: undefined }) },
  { what: 'that is not valid yet', forge: (right) => claims({ nbf: now() + 90 })(right) },
  { what: 'without a subject', forge: claims({ sub: undefined }) },
  {
    what: 'of the algorithm none',
    forge: (right) => ({ ...right, header: { alg: 'none' }, sign: () => '' }),
  },
  {
    what: 'signed by the secret of the client',
    forge: (right) => ({
      ...right,
      header: { alg: 'HS256' },
      sign: (text) => createHmac('sha256', forging.clientSecret).update(text).digest('base64url'),
    }),
  },
  {
    what: 'of an algorithm that is not configured',
    forge: (right) => ({
      ...right,
      header: { alg: 'PS256', kid: 'one' },
      sign: (text) =>
        sign('sha256', Buffer.from(text), {
          key: forging.key,
          padding: constants.RSA_PKCS1_PSS_PADDING,
          saltLength: 32,
        }).toString('base64url'),
    }),
  },
  { what: 'signed by another key', forge: (right) => ({ ...right, sign: signedBy(strangersKey) }) },
  {
    what: 'whose claims were changed after it was signed',
    forge: (right) => ({ ...right, sign: () => signedBy(strangersKey)('other') }),
  },
  { what: 'without a signature', forge: (right) => ({ ...right, sign: () => '' }) },
])('an ID token $what proves nobody', { tags: ['callers-prove-themselves'] }, async ({ forge }) => {
  forging.forge = forge;
  const browser = browserOf(forging);
  await expectRefused(browser, await forgedReturn(browser));
});

test('another state, or none, is refused before the code is used', {
  tags: ['callers-prove-themselves'],
}, async () => {
  for (const change of [
    (url: URL) => url.searchParams.set('state', 'another'),
    (url: URL) => url.searchParams.delete('state'),
  ]) {
    const browser = browserOf(local);
    const back = new URL(await browser.comeBack(), 'https://outbox.test');
    change(back);
    await expectRefused(browser, `${back.pathname}${back.search}`);
  }
});

test('a browser that has not begun the sign-in cannot finish it', async () => {
  const back = await browserOf(local).comeBack();
  await expectRefused(browserOf(local), back);
  // Nor one that has begun another.
  const other = browserOf(local);
  await other.go('/sign-in');
  await expectRefused(other, back);
});

test('a beginning that was altered, or sealed by another secret, is refused', async () => {
  for (const alter of [(sealed: string) => `${sealed.slice(0, -4)}AAAA`, () => 'AAAA', () => '']) {
    const browser = browserOf(local);
    const back = await browser.comeBack();
    const sealed = browser.cookies.get('__Host-outbox-sign-in') ?? '';
    browser.cookies.set('__Host-outbox-sign-in', alter(sealed));
    await expectRefused(browser, back);
  }
  const options = optionsOf(local, made.url);
  const stranger = new Browser(
    openIdConnect({ ...options, session: { secret: 'another secret that is long enough too' } }),
  );
  open.push(stranger);
  const browser = browserOf(local);
  const back = await stranger.comeBack();
  browser.cookies.set('__Host-outbox-sign-in', stranger.cookies.get('__Host-outbox-sign-in') ?? '');
  await expectRefused(browser, back);
});

test('a code that was used is refused, even with what its browser remembered', {
  tags: ['callers-prove-themselves'],
}, async () => {
  const browser = browserOf(local);
  const back = await browser.comeBack();
  const remembered = browser.cookies.get('__Host-outbox-sign-in') ?? '';
  expect((await browser.go(back)).status).toBe(200);
  await made.database.query('truncate outbox.api_session');
  const replaying = browserOf(local);
  replaying.cookies.set('__Host-outbox-sign-in', remembered);
  await expectRefused(replaying, back);
});

test('a code is refused without the verifier that its sign-in began with', {
  tags: ['callers-prove-themselves'],
}, async () => {
  const browser = browserOf(local);
  const begun = new URL((await browser.go('/sign-in')).headers.get('location') ?? '');
  expect(begun.searchParams.get('code_challenge_method')).toBe('S256');
  // What an attacker would do who began it: the state and nonce of the victim, and a challenge of his own.
  begun.searchParams.set('code_challenge', 'x'.repeat(43));
  await expectRefused(browser, await throughProvider(begun.href));
});

test('the provider leads back to the registered address only', async () => {
  const browser = browserOf(local);
  const begun = new URL((await browser.go('/sign-in')).headers.get('location') ?? '');
  expect(begun.searchParams.get('redirect_uri')).toBe(redirectUrl);
  begun.searchParams.set('redirect_uri', `${redirectUrl}/../evil`);
  await expect(throughProvider(begun.href)).rejects.toThrow('The provider answered 400');
});

test('a person who was refused by the provider is told so', async () => {
  const browser = browserOf(local);
  const begun = new URL((await browser.go('/sign-in')).headers.get('location') ?? '');
  const state = begun.searchParams.get('state');
  await expectRefused(
    browser,
    `/callback?error=access_denied&state=${state}&iss=${encodeURIComponent(local.issuer)}`,
  );
});

test('an answer of another provider is refused', async () => {
  const browser = browserOf(local);
  const back = new URL(await browser.comeBack(), 'https://outbox.test');
  back.searchParams.set('iss', 'https://evil.test');
  await expectRefused(browser, `${back.pathname}${back.search}`);
});

test('who fails again and again asks the provider once for each beginning, and for what it publishes hardly ever', {
  tags: ['callers-prove-themselves'],
}, async () => {
  const browser = browserOf(forging);
  forging.forge = claims({ exp: now() - 3_600 });
  forging.asked.clear();
  const path = await forgedReturn(browser);
  const cookies = new Map(browser.cookies);
  for (let round = 0; round < 5; round += 1) {
    for (const [name, value] of cookies) browser.cookies.set(name, value);
    await expectRefused(browser, path);
  }
  for (let round = 0; round < 5; round += 1) await expectRefused(browser, await forgedReturn(browser));

  expect(forging.asked.get('/token')).toBe(6);
  expect(forging.asked.get('/.well-known/openid-configuration')).toBeLessThanOrEqual(2);
});
