// @module-tag apart
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type TlsOptions } from 'node:tls';
import { expect, inject, type TestContext, test } from 'vitest';
import { z } from 'zod';
import { CertificateLooks } from '../../../src/app/relay/certificate-looks.ts';
import { startRelay } from '../../../src/app/relay/start-relay.ts';
import { temporalOf } from '../../../src/config/temporal-config.ts';
import { topic } from '../../../src/core/topic.ts';
import { http, kafka, rabbitmq, redisStream, rocketmq, workflow } from '../../../src/transports.ts';
import { hookServer } from '../../support/fixtures/alert-receivers.ts';
import { type Credentials, testAuthority } from '../../support/fixtures/certificates.ts';
import { createTestDatabase } from '../../support/fixtures/database.ts';
import { ownPostgres, useTls } from '../../support/fixtures/own-postgres.ts';
import { quietTemporal } from '../../support/fixtures/stage.ts';
import { temporalGate } from '../../support/fixtures/temporal-gate.ts';
import { webhookSecret } from '../../support/fixtures/webhook.ts';

const authority = testAuthority('right');
const dayMs = 24 * 60 * 60_000;

/** A server with TLS that says nothing. */
async function tlsServer({ onTestFinished }: TestContext, options: TlsOptions) {
  const server = createServer(options, (socket) => socket.on('error', () => undefined));
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => void server.close());
  const { port } = server.address() as AddressInfo;
  return {
    address: `127.0.0.1:${port}`,
    renew: (credentials: Credentials) => server.setSecureContext(credentials),
    close: () => server.close(),
  };
}

const forDays = (days: number): Credentials => authority.issueFor(days, '127.0.0.1');
/** In whole days from now, a moment ago. */
const daysUntil = (time: string): number => Math.ceil((Date.parse(time) - Date.now()) / dayMs);

test('a relay looks at the certificates of PostgreSQL, Temporal and every broker that it reaches by TLS, and at its own', {
  tags: ['alerts-told-once'],
}, async (context) => {
  const serverFor = async (days: number, options: TlsOptions = {}) =>
    (await tlsServer(context, { ...forDays(days), ...options })).address;
  const postgres = await ownPostgres(context);
  await useTls(postgres.url, { ...forDays(1), clientsOf: authority.ca });
  const gate = await temporalGate(context, { server: forDays(2), clientsOf: authority.ca });
  const pair = authority.issueFor(3);
  const brokers = {
    // A server that wants a certificate, and one whose authority nobody trusts.
    kafka: kafka({
      servers: [await serverFor(4, { ca: authority.ca, requestCert: true }), await serverFor(5)],
      tls: { ...authority.issueFor(30) },
    }),
    rabbitmq: rabbitmq({ url: `amqps://guest:guest@${await serverFor(6)}` }),
    redis: redisStream({ url: `rediss://${await serverFor(7)}` }),
    rocketmq: rocketmq({ servers: await serverFor(8), tls: true }),
    http: http({ secret: webhookSecret('s'), allow: ['127.0.0.1'] }),
    workflow: workflow({ id: () => 'id', signal: 's', address: await serverFor(9), tls: true }),
    plain: kafka({ servers: await serverFor(10) }),
    unused: kafka({ servers: await serverFor(11), tls: true }),
  };
  const url = `https://${await serverFor(12)}/hook`;
  const used = Object.keys(brokers).filter((name) => name !== 'unused');
  const looks = new CertificateLooks({
    config: {
      transports: brokers,
      topics: used.map((name) =>
        topic(name, z.unknown(), { transport: name, ...(name === 'http' && { address: url }) }),
      ),
    },
    database: { url: `${postgres.url}?sslmode=no-verify` },
    temporal: temporalOf({
      address: gate.address,
      tls: { clientCertPair: { crt: pair.cert, key: pair.key } },
    }),
    everyMs: 100,
  });
  context.onTestFinished(() => looks.stop());

  looks.start();

  const seen = () =>
    looks.ends.map(({ server, until: end, whose }) => `${server} ${whose} ${daysUntil(end)}`).toSorted();
  await expect
    .poll(seen)
    .toEqual(
      [
        'PostgreSQL server 1',
        'Temporal server 2',
        'Temporal client 3',
        'kafka server 4',
        'kafka client 30',
        'kafka server 5',
        'kafka client 30',
        'rabbitmq server 6',
        'redis server 7',
        'rocketmq server 8',
        'workflow server 9',
        'http server 12',
      ].toSorted(),
    );
});

test('what was seen of a certificate stays known while its server is away, and a new certificate is seen', async (context) => {
  const [first, second] = [
    await tlsServer(context, authority.issueExpired('127.0.0.1')),
    await tlsServer(context, forDays(50)),
  ];
  const looks = new CertificateLooks({
    config: {
      transports: { kafka: kafka({ servers: [first.address, second.address, '127.0.0.1:1'], tls: true }) },
      topics: [topic('orders', z.unknown())],
    },
    database: { url: 'postgresql://127.0.0.1:1/none' },
    temporal: temporalOf(),
    everyMs: 20,
  });
  context.onTestFinished(() => looks.stop());
  const seen = () => looks.ends.map(({ until: end }) => daysUntil(end));
  looks.start();
  await expect.poll(seen).toEqual([-1, 50]);
  first.close();
  second.renew(forDays(100));

  await expect.poll(seen).toEqual([-1, 100]);
});

test('two relays tell once of a certificate that expires soon, and once when the server has a new one', {
  tags: ['alerts-told-once'],
}, async (context) => {
  quietTemporal();
  const made = await createTestDatabase();
  context.onTestFinished(() => made.drop());
  const hook = await hookServer(context);
  const server = await tlsServer(context, forDays(13));
  const told = () => hook.posted.flatMap(({ json }) => json.alerts);
  const relays = [1, 2].map(() =>
    startRelay(
      {
        database: { url: made.url },
        temporal: { address: inject('temporalAddress') },
        topics: [topic('orders', z.unknown(), { address: `https://${server.address}/hook` })],
        transports: {
          http: http({ secret: webhookSecret('s'), allow: ['127.0.0.1'], tls: { ca: authority.ca } }),
        },
        // The look at certificates is every 40 intervals.
        alerts: { interval: 100, to: { webhook: { url: hook.url } } },
      },
      { logger: false },
    ),
  );
  context.onTestFinished(async () => {
    await Promise.all(relays.map((relay) => relay.stop()));
  });
  await expect.poll(() => told().map(({ rule }) => rule)).toEqual(['certificate']);
  expect(told()[0]).toMatchObject({ subject: `http ${server.address}`, state: 'firing' });
  expect(told()[0]?.text).toMatch(
    /^a certificate for http \S+ expires in 13 days \(at least 14 days\); it is that of the server$/,
  );

  server.renew(forDays(15));

  await expect.poll(() => told().map(({ state }) => state)).toEqual(['firing', 'over']);
});
