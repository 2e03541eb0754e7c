import { expect, test } from 'vitest';
import { z } from 'zod';
import { consumer } from '../../../src/app/consumer/consumer.ts';
import { operations } from '../../../src/app/operations/operations.ts';
import { startRelay } from '../../../src/app/relay/start-relay.ts';
import { kafka } from '../../../src/brokers/kafka/transport/kafka-transport.ts';
import { memorySource } from '../../../src/brokers/memory/memory-source.ts';
import { memoryTransport } from '../../../src/brokers/memory/memory-transport.ts';
import { redisFilter } from '../../../src/brokers/redis/filter/redis-filter.ts';
import { rocketmq } from '../../../src/brokers/rocketmq/transport/rocketmq-transport.ts';
import { type Config, defineConfig, type RelayConfig } from '../../../src/config/config.ts';
import { topic } from '../../../src/core/topic.ts';
import { checkBulkFilter } from '../../../src/operations/bulk/checks.ts';
import { checkFilter, checkKeptFilter } from '../../../src/operations/filters.ts';
import { cancel, reschedule } from '../../../src/outbox/change.ts';
import { send, sendBatch } from '../../../src/outbox/send.ts';
import { crashAt } from '../../../src/testing/crash-at.ts';
import { memoryBroker } from '../../../src/testing/memory-broker.ts';

const orders = topic('orders', z.unknown());
const base = {
  database: { url: 'postgresql://127.0.0.1:9/shop' },
  temporal: {},
  topics: [orders],
  transports: { memory: memoryTransport() },
};
const pem = '-----BEGIN CERTIFICATE-----';
const at = operations(base);
/** No server is asked: an unknown option is refused before anything is done. */
const tx = {
  $queryRawUnsafe: () => Promise.reject(new Error('The database was asked.')),
  $executeRawUnsafe: () => Promise.reject(new Error('The database was asked.')),
};
const client = { $transaction: () => Promise.reject(new Error('The database was asked.')) };
const plain = { mechanism: 'plain', username: 'u', password: 'p' } as const;
const ask = { actor: 'ann' };
const bulkAsk = { ...ask, reason: 'r' };
const ids = { ids: ['6b2f9c1e-7d3a-4f53-9c52-0d5b1a1f0a11'] };
const kept = { group: 'g', ids: ['a'] };
const settings = { config: base, group: 'g' };

/** Each is a right call but for the key `typo`, which the object under test gets. */
const calls: readonly (readonly [what: string, call: (typo: object) => unknown])[] = [
  ['the configuration', (typo) => defineConfig({ ...base, ...typo })],
  ['database', (typo) => defineConfig({ ...base, database: { ...base.database, ...typo } })],
  [
    'database.tls',
    (typo) => defineConfig({ ...base, database: { ...base.database, tls: { ca: pem, ...typo } } }),
  ],
  ['temporal', (typo) => defineConfig({ ...base, temporal: { ...typo } })],
  ['temporal.tls', (typo) => defineConfig({ ...base, temporal: { tls: { ...typo } } })],
  [
    'temporal.tls.clientCertPair',
    (typo) =>
      defineConfig({ ...base, temporal: { tls: { clientCertPair: { crt: pem, key: pem, ...typo } } } }),
  ],
  ['relay', (typo) => defineConfig({ ...base, relay: { ...typo } })],
  ['retention', (typo) => defineConfig({ ...base, retention: { ...typo } })],
  ['a topic', (typo) => topic('x', z.unknown(), { ...typo })],
  ['limits of a topic', (typo) => topic('x', z.unknown(), { limits: { ...typo } })],
  [
    'confirm of a topic',
    (typo) => topic('x', z.unknown(), { confirm: { group: 'g', receiptTimeout: 1, ...typo } }),
  ],
  ['kafka()', (typo) => kafka({ servers: 'a:1', ...typo })],
  ['tls of kafka()', (typo) => kafka({ servers: 'a:1', tls: { ...typo } })],
  ['consumers of kafka()', (typo) => kafka({ servers: 'a:1', consumers: { ...typo } })],
  ['rocketmq()', (typo) => rocketmq({ servers: 'a:1', ...typo })],
  ['tls of rocketmq()', (typo) => rocketmq({ servers: 'a:1', tls: { ...typo } })],
  ['sasl of kafka()', (typo) => kafka({ servers: 'a:1', sasl: { ...plain, ...typo } })],
  ['memoryTransport()', (typo) => memoryTransport({ ...typo })],
  ['memorySource()', (typo) => memorySource({ ...typo })],
  ['memoryBroker()', (typo) => memoryBroker({ ...typo })],
  ['crashAt()', (typo) => crashAt('relay:confirmed', { ...typo })()],
  ['startRelay()', (typo) => startRelay(base, { ...typo })],
  ['consumer()', (typo) => consumer(client, { ...settings, ...typo }).on(orders, () => Promise.resolve())],
  ['batch of consumer()', (typo) => consumer(client, { ...settings, batch: { size: 1, ...typo } })],
  ['breaker of consumer()', (typo) => consumer(client, { ...settings, breaker: { ...typo } })],
  ['a handler', (typo) => consumer(client, settings).on(orders, () => Promise.resolve(), { ...typo })],
  [
    'the id of a handler',
    (typo) =>
      consumer(client, settings).on(orders, () => Promise.resolve(), { id: { header: 'x', ...typo } }),
  ],
  ['redisFilter()', (typo) => redisFilter({ url: 'redis://127.0.0.1:9', ...typo })],
  ['send', (typo) => send(tx, orders, {}, { ...typo })],
  ['sendBatch', (typo) => sendBatch(tx, orders, [{ payload: {}, ...typo }])],
  ['cancel by a sender', (typo) => cancel(tx, orders, { id: ids.ids[0] ?? '', ...typo })],
  ['reschedule by a sender', (typo) => reschedule(tx, orders, 'ref', { after: 0, ...typo })],
  ['operations()', (typo) => operations({ ...base, ...typo })],
  ['list', (typo) => at.list({}, { ...typo })],
  ['a filter', (typo) => checkFilter({ ...typo })],
  ['cancel', (typo) => at.cancel(ids, { ...ask, ...typo })],
  ['a target', (typo) => at.cancel({ ...ids, ...typo }, ask)],
  ['a target by its ref', (typo) => at.cancel({ topic: 'orders', ref: 'r', ...typo }, ask)],
  ['reschedule', (typo) => at.reschedule(ids, { ...ask, after: 0, ...typo })],
  ['retry', (typo) => at.retry(ids, { ...ask, ...typo })],
  ['edit', (typo) => at.edit(ids.ids[0] ?? '', { ...ask, payload: 1, ...typo })],
  ['discard', (typo) => at.discard(ids, { ...ask, ...typo })],
  ['withdraw', (typo) => at.withdraw(ids, { ...ask, ...typo })],
  ['pause', (typo) => at.pause({ topic: 'orders' }, { ...ask, ...typo })],
  ['the scope of a pause', (typo) => at.pause({ topic: 'orders', ...typo }, ask)],
  ['resume', (typo) => at.resume({ transport: 'memory' }, { ...ask, ...typo })],
  ['verify', (typo) => at.verify({ ...typo })],
  ['effects of verify', (typo) => at.verify({ effects: { query: 'q', group: 'g', ...typo } })],
  [
    'the database of effects',
    (typo) => at.verify({ effects: { query: 'q', group: 'g', database: { url: '', ...typo } } }),
  ],
  ['changeLanes', (typo) => at.changeLanes('orders', 2, { ...ask, ...typo })],
  ['changePartitions', (typo) => at.changePartitions('orders', 2, { ...ask, ...typo })],
  ['adopt', (typo) => at.adopt({ ...ask, ...typo })],
  ['bulk.start', (typo) => at.bulk.start({ topic: 'orders' }, { action: 'retry' }, { ...bulkAsk, ...typo })],
  ['a bulk task', (typo) => at.bulk.start({ topic: 'orders' }, { action: 'retry', ...typo }, bulkAsk)],
  ['a bulk filter', (typo) => checkBulkFilter({ topic: 'orders', ...typo }, 'retry')],
  ['bulk.pause', (typo) => at.bulk.pause(ids.ids[0] ?? '', { ...ask, ...typo })],
  ['bulk.resume', (typo) => at.bulk.resume(ids.ids[0] ?? '', { ...ask, ...typo })],
  ['bulk.abort', (typo) => at.bulk.abort(ids.ids[0] ?? '', { ...ask, ...typo })],
  ['inbox.list', (typo) => at.inbox.list({}, { ...typo })],
  ['a filter of kept messages', (typo) => checkKeptFilter({ ...typo })],
  ['inbox.show', (typo) => at.inbox.show({ group: 'g', id: 'a', ...typo })],
  ['inbox.retry', (typo) => at.inbox.retry(kept, { ...ask, ...typo })],
  ['a target of kept messages', (typo) => at.inbox.discard({ ...kept, ...typo }, ask)],
  ['inbox.discard', (typo) => at.inbox.discard(kept, { ...ask, ...typo })],
  ['inbox.edit', (typo) => at.inbox.edit({ group: 'g', id: 'a', ...typo }, { ...ask, payload: 1 })],
  [
    'inbox.bulk.start',
    (typo) => at.inbox.bulk.start({ group: 'g' }, { action: 'retry' }, { ...bulkAsk, ...typo }),
  ],
  ['a kept bulk task', (typo) => at.inbox.bulk.start({ group: 'g' }, { action: 'retry', ...typo }, bulkAsk)],
  ['inbox.bulk.pause', (typo) => at.inbox.bulk.pause(ids.ids[0] ?? '', { ...ask, ...typo })],
];

const outcome = async (call: () => unknown): Promise<unknown> => {
  try {
    return await call();
  } catch (error) {
    return error;
  }
};

test.each(calls)('an unknown key of %s is refused by its name', async (what, call) => {
  const refused = await outcome(() => call({ compresion: 'x' }));

  expect(refused).toMatchObject({
    name: 'OutboxError',
    code: expect.stringMatching(/^OUTBOX_(?:CONFIG_INVALID|OPTION_INVALID)$/),
  });
  // The rule for ids says what it may be; all others name the key.
  expect(String(refused)).toMatch(/compresion|neither "key" nor \{ header/);
  if (/^\w+\(\)$/.test(what)) expect(String(refused)).toContain(what);
});

test('a target cannot be named in both ways', async () => {
  const both = { ...ids, topic: 'orders', ref: 'r' };

  await expect(at.cancel(both, ask)).rejects.toMatchObject({
    code: 'OUTBOX_OPTION_INVALID',
    message: 'Name a target by "ids", or by "topic" and "ref", not by both.',
  });
});

test('every wrong setting of a configuration is named at once', () => {
  const wrong = {
    ...base,
    database: { url: 'mysql://x', tls: { caa: pem }, connections: 0 },
    temporal: { tls: { serverRootCACertificate: './ca.pem' }, ui: 'x' },
  };
  expect(() => defineConfig(wrong as unknown as Config)).toThrow(
    /database\.url must be a postgresql.*database\.tls\.caa is unknown: use options.*database\.connections must.*temporal\.tls\.serverRootCACertificate must be PEM.*temporal\.ui must/,
  );
});

test('operations accept a configuration with all settings', async () => {
  const hooks = { onFailed: async () => undefined, onAlert: async () => undefined };
  const api = { authentication: { caller: async () => undefined } };
  const full: Required<RelayConfig> = {
    ...base,
    relay: {},
    retention: {},
    alerts: {},
    api,
    groups: {},
    ...hooks,
  };
  await operations(defineConfig(full)).close();
});
