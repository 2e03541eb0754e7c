import { afterAll, afterEach, beforeAll, beforeEach, expect, type TestContext, test, vi } from 'vitest';
import { apiHandler } from '../../../../src/api/handler.ts';
import { openIdConnect } from '../../../../src/api/sign-in/open-id-connect.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/fixtures/database.ts';
import { Browser } from './browser.ts';
import { type LocalProvider, startProvider } from './local-provider.ts';
import { opened, optionsOf, redirectUrl } from './sign-in-bench.ts';

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
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
});
afterEach(() => void vi.useRealTimers());

const heartbeat = () => vi.advanceTimersByTime(15_000);

/** Somebody who has signed in and follows the status. */
async function follower(context: TestContext) {
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
