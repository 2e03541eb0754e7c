import { afterEach, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { operations } from '../../../src/app/operations/operations.ts';
import { migrateTopics } from '../../../src/app/relay/migrate-topics.ts';
import { startRelay } from '../../../src/app/relay/start-relay.ts';
import { kafkaTransport } from '../../../src/brokers/kafka/transport/kafka-transport.ts';
import { redisFilter } from '../../../src/brokers/redis/filter/redis-filter.ts';
import type { Transport } from '../../../src/brokers/transport.ts';
import { type Config, defineConfig, type RelayConfig } from '../../../src/config/config.ts';
import { databaseOf } from '../../../src/config/database-config.ts';
import { env } from '../../../src/config/env.ts';
import { temporalOf } from '../../../src/config/temporal-config.ts';
import { topic } from '../../../src/core/topic.ts';
import { http, rabbitmq, redisStream } from '../../../src/transports.ts';

const orders = topic('orders', z.unknown());
const transports = { kafka: kafkaTransport({ servers: env('NOBODY_SETS_BROKERS') }) };
/** As in a file that a test imports, where nothing is set. */
const config = defineConfig({
  database: { url: env('NOBODY_SETS_URL') },
  temporal: { address: env('NOBODY_SETS_TEMPORAL') },
  topics: [orders],
  transports,
});
const missing = (name: string): unknown =>
  expect.objectContaining({
    code: 'OUTBOX_CONFIG_MISSING',
    message: `The environment variable ${name} is not set.`,
    details: { name },
  });

afterEach(() => {
  vi.unstubAllEnvs();
});

test('a variable is read when needed, and an empty one counts as not set', () => {
  const brokers = env('NOBODY_SETS_BROKERS');
  expect(brokers).toThrow(missing('NOBODY_SETS_BROKERS'));
  vi.stubEnv('NOBODY_SETS_BROKERS', '');
  expect(brokers).toThrow(missing('NOBODY_SETS_BROKERS'));
  expect(env('NOBODY_SETS_BROKERS', 'a:1')()).toBe('a:1');
  vi.stubEnv('NOBODY_SETS_BROKERS', 'b:2');
  expect(brokers()).toBe('b:2');
  expect(transports.kafka.connection.servers).toEqual(['b:2']);
});

test.each([
  ['database', () => databaseOf(config.database ?? { url: '' }), 'NOBODY_SETS_URL'],
  ['temporal', () => temporalOf(config.temporal), 'NOBODY_SETS_TEMPORAL'],
  ['kafka()', () => transports.kafka.connection.servers, 'NOBODY_SETS_BROKERS'],
  ['redisFilter()', () => redisFilter({ url: env('NOBODY_SETS_REDIS') }), 'NOBODY_SETS_REDIS'],
])('a missing setting of %s is named when it is needed', (_what, need, name) => {
  expect(need).toThrow(missing(name));
});

test('a relay names missing settings at its start, brokers included', async () => {
  await expect(startRelay(config).ready).rejects.toEqual(missing('NOBODY_SETS_URL'));
  vi.stubEnv('NOBODY_SETS_URL', 'postgresql://127.0.0.1:9/shop');
  await expect(startRelay(config).ready).rejects.toEqual(missing('NOBODY_SETS_TEMPORAL'));
  vi.stubEnv('NOBODY_SETS_TEMPORAL', '127.0.0.1:9');
  await expect(startRelay(config).ready).rejects.toEqual(missing('NOBODY_SETS_BROKERS'));
});

test('the result of a function is checked like a literal', () => {
  expect(() => databaseOf({ url: () => 'mysql://x' })).toThrow(/database\.url must be a postgresql/);
  const tls = () => ({ serverRootCACertificate: './ca.pem' });
  expect(() => temporalOf({ tls })).toThrow(/temporal\.tls\.serverRootCACertificate must be PEM/);
  const misspelt = () => ({ caa: 'x' }) as object;
  expect(() => kafkaTransport({ servers: 'a:1', tls: misspelt }).connection.tls).toThrow(/tls\.caa/);
});

test.each<[string, () => Transport, string]>([
  ['no secret of http', () => http({ secret: env('OUTBOX_TEST_ABSENT') }), 'OUTBOX_CONFIG_MISSING'],
  ['an invalid secret of http', () => http({ secret: () => 'abc' }), 'OUTBOX_OPTION_INVALID'],
  ['no url of Redis', () => redisStream({ url: env('OUTBOX_TEST_ABSENT') }), 'OUTBOX_CONFIG_MISSING'],
  ['no url of RabbitMQ', () => rabbitmq({ url: env('OUTBOX_TEST_ABSENT') }), 'OUTBOX_CONFIG_MISSING'],
])('a relay with %s refuses to start before it waits for any server', async (_what, transport, code) => {
  const hooks = {
    topics: [topic('hook', z.object({}), { address: 'https://shop.test/', transport: 'own' })],
    transports: { own: transport() },
    database: { url: 'postgresql://127.0.0.1:1/outbox' },
  };
  const relay = startRelay(hooks, { startTimeout: 500, logger: false });
  await expect(relay.ready).rejects.toMatchObject({ code });
  await relay.stop();
});

test('a function of the secret that fails for another reason is called again later', async () => {
  const secret = (): string => {
    throw new Error('the vault is sealed');
  };
  const hooks = {
    topics: [topic('hook', z.object({}), { address: 'https://shop.test/', transport: 'own' })],
    transports: { own: http({ secret }) },
    database: { url: 'postgresql://127.0.0.1:1/outbox' },
  };
  const relay = startRelay(hooks, { startTimeout: 500, logger: false });
  await expect(relay.ready).rejects.toMatchObject({ code: 'OUTBOX_SERVER_UNAVAILABLE' });
  await relay.stop();
});

test('credentials of Kafka are requested for every connection', () => {
  let password = 'first';
  const { connection } = kafkaTransport({
    servers: 'a:1',
    sasl: () => ({ mechanism: 'scram-sha-512', username: 'u', password }),
  });
  expect(connection.sasl).toMatchObject({ password: 'first' });
  password = 'second';
  expect(connection.sasl).toMatchObject({ password: 'second' });
});

test('a configuration may lack a database, and whatever needs one reports it', async () => {
  const consuming: Config = defineConfig({ topics: [orders], transports });
  const needed = (who: RegExp): unknown =>
    expect.objectContaining({
      code: 'OUTBOX_CONFIG_MISSING',
      message: expect.stringMatching(who),
      details: { setting: 'database' },
    });
  const incomplete = consuming as RelayConfig;

  expect(() => startRelay(incomplete)).toThrow(needed(/^A relay needs a database/));
  await expect(operations(incomplete).status()).rejects.toEqual(needed(/^Operations need a database/));
  await expect(migrateTopics(consuming)).rejects.toEqual(needed(/announcement of topics needs a database/));
});
