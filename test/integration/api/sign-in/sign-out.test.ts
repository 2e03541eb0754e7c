import { afterAll, beforeAll, beforeEach, expect, type TestContext, test, vi } from 'vitest';
import { apiHandler } from '../../../../src/api/handler.ts';
import { openIdConnect } from '../../../../src/api/sign-in/open-id-connect.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/fixtures/database.ts';
import { Browser, throughProvider } from './browser.ts';
import { startForgingProvider } from './forging-provider.ts';
import { type LocalProvider, startProvider } from './local-provider.ts';
import { opened, optionsOf, redirectUrl, signedOutUrl } from './sign-in-bench.ts';

let made: TestDatabase;
let provider: LocalProvider;
beforeAll(async () => {
  made = await createTestDatabase();
  provider = await startProvider(redirectUrl);
  provider.account = { sub: 'u-1', groups: ['outbox-admins', 'outbox-orders'] };
});
afterAll(async () => {
  await provider.stop();
  await made.drop();
});
beforeEach(async () => {
  await made.database.query('truncate outbox.api_session');
});

/** A person whose browser has a session at the provider, too. */
class Person extends Browser {
  readonly atProvider = new Map<string, string>();

  override async comeBack(): Promise<string> {
    const begun = await this.go('/sign-in');
    return throughProvider(begun.headers.get('location') ?? '', this.atProvider);
  }

  signOut(mode: string): Promise<Response> {
    const headers = { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': mode };
    return this.go('/sign-out', { method: 'POST', headers });
  }

  /** Says yes on the page of the provider. @returns where it leads */
  async confirm(address: string): Promise<string | null> {
    const cookie = () => [...this.atProvider].map(([name, value]) => `${name}=${value}`).join('; ');
    const asked = await fetch(address, { headers: { cookie: cookie() }, redirect: 'manual' });
    for (const one of asked.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(one) ?? [];
      this.atProvider.set(name, value);
    }
    const page = await asked.text();
    const [, action = ''] = /action="([^"]+)"/.exec(page) ?? [];
    const [, xsrf = ''] = /name="xsrf" value="([^"]+)"/.exec(page) ?? [];
    const done = await fetch(action, {
      method: 'POST',
      headers: { cookie: cookie(), 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ xsrf, logout: 'yes' }),
      redirect: 'manual',
    });
    return done.headers.get('location');
  }
}

const person = (
  context: TestContext,
  more: object = {},
  at: Parameters<typeof optionsOf>[0] = provider,
): Person => new Person(opened(context, { ...optionsOf(at, made.url), ...more }));

test('a form that signs out is led to the provider, whose session ends too, and back to the registered address', {
  tags: ['callers-prove-themselves'],
}, async (context) => {
  const one = person(context, { signedOutUrl });
  await one.signIn();
  const before = provider.signIns;
  await one.signIn();
  // Its session there has let the person in again without a question.
  expect(provider.signIns).toBe(before);

  const left = await one.signOut('navigate');
  expect([left.status, one.cookies.size, await one.who()]).toEqual([303, 0, undefined]);
  const address = new URL(left.headers.get('location') ?? '');
  expect(Object.fromEntries(address.searchParams)).toEqual({
    client_id: provider.clientId,
    post_logout_redirect_uri: signedOutUrl,
  });
  expect(await one.confirm(address.href)).toBe(signedOutUrl);
  await one.signIn();
  expect(provider.signIns).toBe(before + 1);
});

test('a script that signs out is told where, and without an address to come back to people stay there', async (context) => {
  const one = person(context);
  await one.signIn();
  const told = (await (await one.signOut('cors')).json()) as { readonly provider: string };
  expect(new URL(told.provider).searchParams.has('post_logout_redirect_uri')).toBe(false);
  expect(new URL((await one.confirm(told.provider)) ?? '').origin).toBe(provider.issuer);
});

test('at a provider that says nothing of a sign-out, and at one that is away, only the own session ends', async (context) => {
  const silent = await startForgingProvider();
  context.onTestFinished(() => silent.stop());
  const away = await startProvider(redirectUrl);
  away.account = provider.account;
  const one = person(context, {}, away);
  await one.signIn();
  await away.stop();
  // As a process that has never asked that provider.
  const other = person(context, {}, away);
  other.cookies.set('__Host-outbox', one.cookies.get('__Host-outbox') ?? '');
  for (const each of [person(context, {}, silent), other]) {
    const left = await each.signOut('navigate');
    expect([left.status, left.headers.get('location')]).toEqual([204, null]);
  }
  expect(await one.who()).toBeUndefined();
  expect(await made.database.query('select from outbox.api_session')).toEqual([]);
});

const heartbeat = () => vi.advanceTimersByTime(15_000);

/** Somebody who has signed in and follows the status. */
async function follower(context: TestContext) {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  context.onTestFinished(() => void vi.useRealTimers());
  // The API closes it.
  const browser = new Browser(openIdConnect(optionsOf(provider, made.url)));
  await browser.signIn();
  const api = apiHandler(
    { database: { url: made.url } },
    { authentication: browser.authentication, logger: false },
  );
  context.onTestFinished(() => api.close());
  const response = await api(browser.request('/events'));
  const body: ReadableStream<Uint8Array> | null = response.body;
  if (response.status !== 200 || body === null) throw new Error('The stream was not opened.');
  let ended = false;
  void (async () => {
    for await (const _ of body);
    ended = true;
  })();
  return { browser, ended: () => ended };
}

test('a sign-out at any process ends the streams of all soon', {
  tags: ['callers-prove-themselves'],
}, async (context) => {
  const { browser, ended } = await follower(context);
  const elsewhere = new Browser(opened(context, optionsOf(provider, made.url)));
  for (const [name, value] of browser.cookies) elsewhere.cookies.set(name, value);
  const headers = { 'sec-fetch-site': 'same-origin' };
  await elsewhere.go('/sign-out', { method: 'POST', headers });
  expect(ended()).toBe(false);
  heartbeat();
  await expect.poll(ended).toBe(true);
});

test('rights that are taken away end the streams that had them', async (context) => {
  const { browser, ended } = await follower(context);
  await made.database.query(`update outbox.api_session set grants = '{outbox-orders}'`);
  heartbeat();
  await expect.poll(ended).toBe(true);
  expect(await browser.who()).toMatchObject({ role: 'operator' });
});

test('a session is in use while one of its streams is open', async (context) => {
  const { browser, ended } = await follower(context);
  const isNoted = async (): Promise<boolean> => {
    const fresh = `select from outbox.api_session where used_at > now() - interval '1 minute'`;
    return (await made.database.query(fresh)).length === 1;
  };
  await made.database.query(`update outbox.api_session set used_at = now() - interval '14 minutes'`);
  heartbeat();
  await expect.poll(isNoted).toBe(true);
  expect([ended(), (await browser.who())?.name]).toEqual([false, 'u-1']);
});
