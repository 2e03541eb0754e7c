import { expect, inject, test } from 'vitest';
import { z } from 'zod';
import { startRelay } from '../../../src/app/relay/start-relay.ts';
import { topic } from '../../../src/core/topic.ts';
import { http } from '../../../src/transports.ts';
import { hookServer } from '../../support/fixtures/alert-receivers.ts';
import { testAuthority } from '../../support/fixtures/certificates.ts';
import { createTestDatabase } from '../../support/fixtures/database.ts';
import { quietTemporal } from '../../support/fixtures/stage.ts';
import { webhookSecret } from '../../support/fixtures/webhook.ts';

test('relays tell once of a certificate that they have loaded and that expires soon, and once when none has it any more', {
  tags: ['alerts-told-once'],
}, async (context) => {
  quietTemporal();
  const made = await createTestDatabase();
  context.onTestFinished(() => made.drop());
  const hook = await hookServer(context);
  const authority = testAuthority('right');
  let ca = authority.issueFor(13).cert;
  const told = () => hook.posted.flatMap(({ json }) => json.alerts);
  const begin = () =>
    startRelay(
      {
        database: { url: made.url },
        temporal: { address: inject('temporalAddress') },
        topics: [topic('orders', z.unknown(), { address: hook.url })],
        transports: {
          http: http({ secret: webhookSecret('s'), allow: ['127.0.0.1'], tls: () => ({ ca }) }),
        },
        alerts: { interval: 100, to: { webhook: { url: hook.url } } },
      },
      { logger: false },
    );
  const relays = [begin(), begin()];
  context.onTestFinished(async () => {
    await Promise.all(relays.map((relay) => relay.stop()));
  });
  await expect.poll(() => told().map(({ rule }) => rule)).toEqual(['certificate']);
  expect(told()[0]).toMatchObject({
    subject: 'http (authority)',
    state: 'firing',
    text: 'a certificate for http (authority) expires in 13 days (at least 14 days); relays trust it',
  });

  ca = authority.ca;
  const renewed = begin();
  relays.push(renewed);
  await renewed.ready;
  // The others have loaded the old one, whatever the configuration says now.
  expect(told().map(({ state }) => state)).toEqual(['firing']);
  await Promise.all(relays.splice(0, 2).map((relay) => relay.stop()));

  await expect.poll(() => told().map(({ state }) => state)).toEqual(['firing', 'over']);
});
