// @module-tag apart
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ConfigResourceTypes } from 'kafkajs';
import { expect, inject, test, vi } from 'vitest';
import { startKafka } from '../../../dev/servers/index.ts';
import { startRelay } from '../../../src/app/relay/start-relay.ts';
import { kafka } from '../../../src/brokers/kafka/transport/kafka-transport.ts';
import { redisStream } from '../../../src/brokers/redis/transport/stream-transport.ts';
import { pinPartitions } from '../../../src/store/lane/topics.ts';
import { runCliProcess } from '../../support/fixtures/cli.ts';
import { ownDatabase } from '../../support/fixtures/database.ts';
import { checksWith, diagnosed, examined } from '../../support/fixtures/doctor.ts';
import { ownLane } from '../../support/fixtures/lane-fixture.ts';
import { ownCache } from '../../support/fixtures/local-cache.ts';
import { registerNamespace } from '../../support/fixtures/namespaces.ts';
import { ownPostgres } from '../../support/fixtures/own-postgres.ts';
import { ownRedis, redisAt } from '../../support/fixtures/own-redis.ts';
import { numbered, quietTemporal } from '../../support/fixtures/stage.ts';
import { createTopic, observer } from '../../support/kafka/kafka-topic.ts';

test('healthy servers and a relay have no problem, in a table of 80 columns', async (context) => {
  quietTemporal();
  const { url } = await ownPostgres(context);
  const address = await createTopic(observer(inject('kafkaBrokers')));
  const config = {
    database: { url },
    temporal: { address: inject('temporalAddress') },
    topics: [numbered('orders', { address })],
    transports: { kafka: kafka({ servers: inject('kafkaBrokers') }) },
  };
  const relay = startRelay(config, { logger: false });
  context.onTestFinished(() => relay.stop());
  await relay.ready;

  const { answers, code, stdout } = await diagnosed(config);
  expect(checksWith('problem', answers)).toEqual([]);
  // The broker of the test run is alone.
  expect(checksWith('warning', answers)).toEqual(['replication']);
  expect(answers.get('temporal')?.message).toMatch(/^Temporal \d+\.\d+\.\d+ at /);
  expect(answers.get('kafka')?.message).toMatch(/^Kafka \d/);
  expect(answers.get('temporal clock')).toMatchObject({ state: 'ok' });
  expect(answers.get('search attributes')).toMatchObject({ state: 'ok' });
  expect(code).toBe(0);
  expect(stdout).toMatch(/\n0 problems, 1 warning, \d\d checks passed\.\n$/);
  expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
});

test('of several topics at one address the one with the largest payloads is compared with the limit of Kafka', async () => {
  const { url } = await ownDatabase();
  const brokers = inject('kafkaBrokers');
  const address = await createTopic(observer(brokers), {
    configEntries: [{ name: 'max.message.bytes', value: '50000' }],
  });
  const large = numbered('orders', { address, limits: { payloadBytes: 100_000 } });
  const small = numbered('mails', { address, limits: { payloadBytes: 500 } });
  const look = async (...topics: readonly (typeof large)[]) =>
    (
      await examined({
        database: { url },
        transports: { kafka: kafka({ servers: brokers }) },
        topics: [...topics],
      })
    ).get('message size');

  for (const topics of [
    [large, small],
    [small, large],
  ])
    expect(await look(...topics)).toMatchObject({
      state: 'warning',
      message: expect.stringContaining('100000 bytes'),
    });
  expect((await look(small))?.state).not.toBe('warning');
});

test('topics that lose, refuse or keep back messages are named with the command that corrects them', async (context) => {
  const fixture = await ownLane();
  const { env } = await ownCache(context);
  const cluster = await startKafka({ env, brokers: 2 });
  context.onTestFinished(() => cluster.stop());
  const brokers = cluster.brokers.join(',');
  const client = observer(brokers);
  const admin = client.admin();
  await admin.connect();
  context.onTestFinished(() => admin.disconnect());
  const address = await createTopic(client, { replicaAssignment: [{ partition: 0, replicas: [1, 2] }] });
  const transports = { kafka: kafka({ servers: brokers }) };
  const confirm = { group: 'billing', receiptTimeout: ['1m'], maxSends: 3 } as const;
  const look = (at = address, options = {}) =>
    examined({
      database: { url: fixture.url },
      transports,
      topics: [numbered('orders', { address: at, ...options })],
    });
  const set = (name: string, value: string) =>
    admin.alterConfigs({
      validateOnly: false,
      resources: [{ type: ConfigResourceTypes.TOPIC, name: address, configEntries: [{ name, value }] }],
    });

  expect((await look('no-such-topic')).get('topics')).toMatchObject({
    state: 'problem',
    message: expect.stringContaining('no-such-topic'),
    next: expect.stringContaining('temporal-outbox migrate --create'),
  });
  expect((await look(address, { confirm })).get('receipts')).toMatchObject({ state: 'problem' });
  expect((await look()).get('replication')).toMatchObject({
    state: 'warning',
    next: expect.stringContaining('min.insync.replicas=2'),
  });

  await set('min.insync.replicas', '2');
  const safe = await look();
  for (const check of ['topics', 'partitions', 'replicas in sync', 'replication'])
    expect(safe.get(check), check).toMatchObject({ state: 'ok' });
  await set('max.message.bytes', '1000');
  expect((await look()).get('message size')?.next).toContain('max.message.bytes=');
  await set('unclean.leader.election.enable', 'true');
  expect((await look()).get('leader election')).toMatchObject({ state: 'warning' });
  await set('min.insync.replicas', '3');
  expect((await look()).get('replicas in sync')).toMatchObject({
    state: 'problem',
    next: expect.stringContaining('min.insync.replicas=1'),
  });

  await fixture.database.query(`update outbox.topic set address = $1`, [address]);
  await pinPartitions(fixture.database, 'orders', 1);
  await admin.createPartitions({ topicPartitions: [{ topic: address, count: 3 }] });
  expect((await look()).get('partitions')).toMatchObject({
    state: 'warning',
    next: 'temporal-outbox partitions orders 3 --group <groups>',
  });
  await fixture.database.query('update outbox.topic set partitions = 5');
  expect((await look()).get('partitions')).toMatchObject({ state: 'problem' });

  const alone = await createTopic(client, { replicaAssignment: [{ partition: 0, replicas: [2] }] });
  expect((await look(alone)).get('replication')?.message).toContain('one replica');
  await cluster.nodes[1]?.stop('SIGKILL');
  await vi.waitUntil(
    async () => (await look(alone)).get('replicas in sync')?.message.includes('no leader'),
    60_000,
  );
});

test('a namespace that is missing or lacks search attributes is named with the commands that correct it', async () => {
  const { url } = await ownDatabase();
  const namespace = `bare-${randomUUID()}`;
  await registerNamespace(namespace);
  const look = (name: string) =>
    examined({ database: { url }, temporal: { address: inject('temporalAddress'), namespace: name } });

  expect((await look(namespace)).get('search attributes')).toMatchObject({
    state: 'warning',
    next: `temporal operator search-attribute create --address ${inject('temporalAddress')} --namespace ${namespace} --name OutboxTopic --type Keyword --name OutboxKey --type Keyword --name OutboxRef --type Keyword`,
  });
  expect((await look(`missing-${namespace}`)).get('temporal')).toMatchObject({
    state: 'problem',
    message: expect.stringContaining(`missing-${namespace}`),
  });
});

test('a transport of another server is examined by its probe', async () => {
  const { url } = await ownDatabase();
  const look = (server: string) =>
    examined({ database: { url }, transports: { orders: redisStream({ url: server }) } });

  expect((await look(inject('redisUrl'))).get('orders')).toMatchObject({
    state: 'ok',
    message: expect.stringMatching(/^Redis \d+\.\d+\.\d+ at .* answers for 1 address\.$/),
  });
  expect((await look('redis://127.0.0.1:1')).get('orders orders')).toMatchObject({ state: 'problem' });
});

test('a Redis that may lose or delete what it has acknowledged is named with the setting', {
  tags: ['redis-keeps-what-it-acknowledged'],
}, async () => {
  const { url } = await ownDatabase();
  const server = await ownRedis([
    '--appendonly',
    'no',
    '--maxmemory',
    '100mb',
    '--maxmemory-policy',
    'allkeys-lru',
  ]);
  const admin = await redisAt(server.url);
  const look = () =>
    examined({ database: { url }, transports: { orders: redisStream({ url: server.url }) } });

  const unsafe = await look();
  expect(unsafe.get('redis persistence')).toMatchObject({
    state: 'warning',
    message: expect.stringContaining('no append-only file'),
    next: expect.stringContaining('CONFIG SET appendonly yes'),
  });
  expect(unsafe.get('redis eviction')).toMatchObject({
    state: 'problem',
    message: expect.stringMatching(/allkeys-lru.*deletes streams and lists with their messages/),
    next: expect.stringContaining('CONFIG SET maxmemory-policy noeviction'),
  });

  await admin.configSet('appendonly', 'yes');
  await admin.configSet('maxmemory-policy', 'volatile-lru');
  const inSeconds = await look();
  expect(inSeconds.get('redis persistence')).toMatchObject({
    state: 'warning',
    message: expect.stringContaining('appendfsync'),
  });
  expect(inSeconds.get('redis eviction')).toMatchObject({ state: 'warning' });

  await admin.configSet('appendfsync', 'always');
  await admin.configSet('maxmemory-policy', 'noeviction');
  const safe = await look();
  expect(safe.get('redis persistence')).toMatchObject({ state: 'ok' });
  expect(safe.get('redis eviction')).toMatchObject({ state: 'ok' });
});

test('unreachable servers are problems, those that accept connections and never answer are not examined', async (context) => {
  const silent = createServer(() => undefined);
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  context.onTestFinished(async () => void silent.close());
  const { port } = silent.address() as AddressInfo;
  const folder = await mkdtemp(path.join(tmpdir(), 'outbox-doctor-'));
  context.onTestFinished(() => rm(folder, { recursive: true }));
  const root = path.resolve(import.meta.dirname, '../../..');
  const file = path.join(folder, 'outbox.config.ts');
  await writeFile(
    file,
    `import { defineConfig, env, topic } from '${root}/dist/src/index.js';
import { kafka } from '${root}/dist/src/transports.js';
import { z } from '${root}/node_modules/zod';
const at = '127.0.0.1:' + env('PORT')();
export default defineConfig({
  database: { url: 'postgresql://a:b@' + at + '/shop' },
  temporal: { address: at },
  topics: [topic('orders', z.unknown())],
  transports: { kafka: kafka({ servers: at }) },
});
`,
  );

  await finds(1, 'problem', 1);
  await finds(port, 'unexamined', 3);

  async function finds(at: number, state: string, exitCode: number): Promise<void> {
    const { code, stdout, stderr } = await runCliProcess(['doctor', '--json', '--config', file], {
      PORT: String(at),
    });
    expect(code, stderr).toBe(exitCode);
    const { findings, ok } = JSON.parse(stdout);
    expect(ok).toBe(false);
    expect(findings).toMatchObject([
      { check: 'postgres', state },
      { check: 'temporal', state },
      { check: 'kafka', state },
    ]);
  }
});
