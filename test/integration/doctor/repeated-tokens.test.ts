import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { apiHandler } from '../../../src/api/handler.ts';
import { openIdConnect } from '../../../src/api/sign-in/open-id-connect.ts';
import { testAlerts } from '../../../src/app/operations/test-alerts.ts';
import { startRelay } from '../../../src/app/relay/start-relay.ts';
import { print } from '../../../src/brokers/print/print-transport.ts';
import {
  plantedSecret,
  repeatingMailServer,
  repeatingTemporal,
  saidBeside,
} from '../../support/faults/repeating-servers.ts';
import { ownDatabase } from '../../support/fixtures/database.ts';
import { numbered } from '../../support/fixtures/stage.ts';
import { until } from '../../support/fixtures/until.ts';
import { Browser } from '../api/sign-in/browser.ts';
import { optionsOf } from '../api/sign-in/sign-in-bench.ts';
import { examine, Told, tellHealth } from './told.ts';

const basic = { topics: [numbered('orders')], transports: { print: print() } };

async function databaseUrl(): Promise<string> {
  const made = await ownDatabase();
  return made.url;
}

test('Temporal that repeats its API key is quoted without it by relay and doctor', {
  tags: ['secrets-stay-secret'],
}, async () => {
  const { address } = await repeatingTemporal();
  const told = new Told();
  const database = { url: await databaseUrl() };
  const config = { ...basic, database, temporal: { address, tls: false, apiKey: () => plantedSecret } };
  const relay = startRelay(config, { logger: told.logger('log of the relay') });
  onTestFinished(() => relay.stop());
  relay.ready.catch((error: unknown) => told.add('start of the relay', String(error)));
  await until(() => told.telling.length > 0, 30_000);
  tellHealth(told, 'health of the relay', relay.health());
  await examine(config, told);

  expect(told.leaks).toEqual([]);
  expect(told.telling).toContain('doctor');
});

test('a mail server that repeats the credentials, as they came, is quoted without them', {
  tags: ['secrets-stay-secret'],
}, async () => {
  const server = await repeatingMailServer();
  const email = { server, from: 'outbox@shop.test', to: ['ops@shop.test'] };
  const database = { url: await databaseUrl() };
  const temporal = { address: '127.0.0.1:1' };
  const told = new Told();
  told.add('test of alerts', await testAlerts({ ...basic, database, temporal, alerts: { to: { email } } }));

  expect(told.leaks).toEqual([]);
  expect(told.telling).toEqual(['test of alerts']);
});

/** A provider of OpenID Connect that repeats what it got, the secret of the client and what it has given out itself. */
async function repeatingProvider(): Promise<string> {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (part: Buffer) => (body += part.toString()));
    request.on('end', () => {
      const { host, authorization } = request.headers;
      const issuer = `http://${host}`;
      const known = { authorization_endpoint: `${issuer}/auth`, token_endpoint: `${issuer}/token` };
      const isConfiguration = request.url === '/.well-known/openid-configuration';
      const said = `${saidBeside} ${authorization} ${body} ${plantedSecret}`.replaceAll('"', "'");
      response.writeHead(isConfiguration ? 200 : 401, {
        'content-type': 'application/json',
        ...(!isConfiguration && {
          'www-authenticate': `Bearer error="invalid_token", error_description="${said}"`,
        }),
      });
      response.end(
        JSON.stringify(
          isConfiguration
            ? { issuer, jwks_uri: `${issuer}/jwks`, ...known }
            : { error: 'invalid_client', error_description: said },
        ),
      );
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('a provider of the sign-in that repeats secrets is quoted in no answer and no line of the log', {
  tags: ['secrets-stay-secret'],
}, async () => {
  const url = await databaseUrl();
  const issuer = { issuer: await repeatingProvider(), clientId: 'outbox', clientSecret: plantedSecret };
  const authentication = openIdConnect(optionsOf(issuer, url));
  const told = new Told();
  const api = apiHandler({ database: { url } }, { authentication, logger: told.logger('log of the API') });
  onTestFinished(() => api.close());
  const browser = new Browser({ ...authentication, handle: (request) => api(request) });
  const begun = new URL((await browser.go('/sign-in')).headers.get('location') ?? '');
  const state = begun.searchParams.get('state');
  const answer = await browser.go(`/callback?code=${plantedSecret}&state=${state}`);
  told.add('answer', await answer.text());

  expect(answer.status).toBe(503);
  expect([...told.texts.keys()].toSorted()).toEqual(['answer', 'log of the API']);
  expect([told.leaks, told.telling]).toEqual([[], []]);
});
