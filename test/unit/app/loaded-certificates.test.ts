import { expect, test } from 'vitest';
import { z } from 'zod';
import { loadedCertificates } from '../../../src/app/relay/loaded-certificates.ts';
import { temporalOf } from '../../../src/config/temporal-config.ts';
import { topic } from '../../../src/core/topic.ts';
import type { Transport } from '../../../src/transports.ts';
import { http, kafka, rabbitmq, redisStream, rocketmq, workflow } from '../../../src/transports.ts';
import { testAuthority } from '../../support/fixtures/certificates.ts';
import { webhookSecret } from '../../support/fixtures/webhook.ts';

const authority = testAuthority('right');
const dayMs = 24 * 60 * 60_000;
const pemFor = (days: number): string => authority.issueFor(days).cert;
const plain = { database: { url: 'postgresql://127.0.0.1:1/none' }, temporal: temporalOf() };

/** A configuration with a topic for each transport, but for what is unused. */
function configOf(transports: Readonly<Record<string, Transport>>) {
  const used = Object.keys(transports).filter((name) => name !== 'unused');
  return { transports, topics: used.map((name) => topic(name, z.unknown(), { transport: name })) };
}

/** What is loaded, with whole days from a moment ago until it ends. */
function seen(input: Parameters<typeof loadedCertificates>[0]): readonly string[] {
  return loadedCertificates(input).map(({ server, until, whose }) => {
    const days = Math.ceil((Date.parse(until) - Date.now()) / dayMs);
    return `${server} ${whose} ${days}`;
  });
}

test('a relay reads the certificates that are loaded for PostgreSQL, Temporal and every transport, and asks no server', {
  tags: ['alerts-told-once'],
}, () => {
  const pair = authority.issueFor(4);
  const transports = {
    kafka: kafka({ servers: '127.0.0.1:1', tls: { ...authority.issueFor(5), ca: pemFor(6) } }),
    rabbitmq: rabbitmq({ url: 'amqps://guest:guest@127.0.0.1:1', tls: { ca: [pemFor(7)] } }),
    redis: redisStream({ url: 'rediss://127.0.0.1:1', tls: { ca: Buffer.from(pemFor(8)) } }),
    rocketmq: rocketmq({ servers: '127.0.0.1:1', tls: { ca: pemFor(9) } }),
    http: http({ secret: webhookSecret('s'), tls: { ca: pemFor(10) } }),
    workflow: workflow({
      id: () => 'id',
      signal: 's',
      address: '127.0.0.1:1',
      tls: { serverRootCACertificate: Buffer.from(pemFor(11)) },
    }),
    unused: kafka({ servers: '127.0.0.1:1', tls: { ca: pemFor(12) } }),
  };
  const found = seen({
    config: configOf(transports),
    database: { ...plain.database, tls: { ...authority.issueFor(1), ca: pemFor(2) } },
    temporal: temporalOf({
      tls: { serverRootCACertificate: pemFor(3), clientCertPair: { crt: pair.cert, key: pair.key } },
    }),
  });

  expect(found).toEqual([
    'PostgreSQL client 1',
    'PostgreSQL authority 2',
    'Temporal client 4',
    'Temporal authority 3',
    'kafka client 5',
    'kafka authority 6',
    'rabbitmq authority 7',
    'redis authority 8',
    'rocketmq authority 9',
    'http authority 10',
    'workflow authority 11',
  ]);
});

test('of a chain the certificate of the client counts, and of several authorities the one that ends first', () => {
  const cert = `${pemFor(30)}${pemFor(20)}`;
  const ca = [`${pemFor(40)}${pemFor(-2)}`, pemFor(50)];
  const transports = { kafka: kafka({ servers: '127.0.0.1:1', tls: { cert, ca } }) };

  expect(seen({ config: configOf(transports), ...plain })).toEqual(['kafka client 30', 'kafka authority -2']);
});

test('a function is called again, so a file that was renewed is seen', () => {
  let ca = pemFor(5);
  const transports = { kafka: kafka({ servers: '127.0.0.1:1', tls: () => ({ ca }) }) };
  const config = configOf(transports);
  expect(seen({ config, ...plain })).toEqual(['kafka authority 5']);

  ca = authority.ca;

  expect(seen({ config, ...plain })).toEqual(['kafka authority 3650']);
});

test('without certificates of its own, and with those that cannot be read, a transport is left out', () => {
  const transports = {
    without: kafka({ servers: '127.0.0.1:1' }),
    trusting: redisStream({ url: 'rediss://127.0.0.1:1' }),
    // Its TLS options are not used.
    insecure: rabbitmq({ url: 'amqp://guest:guest@127.0.0.1:1', tls: { ca: pemFor(1) } }),
    broken: kafka({
      servers: '127.0.0.1:1',
      tls: { ca: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----' },
    }),
    failing: kafka({
      servers: '127.0.0.1:1',
      tls: () => {
        throw new Error('There is no such file.');
      },
    }),
    right: kafka({ servers: '127.0.0.1:1', tls: { ca: pemFor(9) } }),
  };

  expect(seen({ config: configOf(transports), ...plain })).toEqual(['right authority 9']);
});
