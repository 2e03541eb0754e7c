// @module-tag apart
import { readFile } from 'node:fs/promises';
import { createClient } from '@redis/client';
import { Connection } from '@temporalio/client';
import { Kafka, logLevel } from 'kafkajs';
import pg from 'pg';
import { expect, test, vi } from 'vitest';
import {
  searchAttributes,
  startKafka,
  startPostgres,
  startRedis,
  startTemporal,
} from '../../../dev/servers/index.ts';
import { leftIn, ownCache } from '../../support/fixtures/local-cache.ts';
import { startTimeSkipping } from '../../support/fixtures/time-skipping.ts';
import { until } from '../../support/fixtures/until.ts';

test.concurrent('PostgreSQL from the registry answers, keeps its data over kill -9 and a restart, and leaves nothing behind', async ({
  onTestFinished,
}) => {
  const { cache, env } = await ownCache({ onTestFinished });
  const server = await startPostgres({ env });
  onTestFinished(() => server.stop());
  expect(server.source).toBe('registry');
  await query(server.url, 'create table kept as select 1 as one');

  await server.node?.stop('SIGKILL');
  await expect(query(server.url, 'select 1')).rejects.toThrow(/ECONNREFUSED|terminated|reset/);
  await server.node?.start();

  expect(await query(server.url, 'select one from kept')).toEqual([{ one: 1 }]);
  expect(await query(server.url, 'show fsync')).toEqual([{ fsync: 'on' }]);
  expect(await query(server.url, 'show server_version')).toEqual([{ server_version: '18.4' }]);
  await server.stop();
  await server.stop();
  expect(leftIn(cache)).toEqual([]);
});

test.concurrent('a killed PostgreSQL starts as soon as the last of its processes has ended', async ({
  onTestFinished,
}) => {
  const { env } = await ownCache({ onTestFinished });
  const server = await startPostgres({ env });
  onTestFinished(() => server.stop());
  const client = new pg.Client({ connectionString: server.url });
  client.on('error', () => {});
  await client.connect();
  const [backend] = (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows;
  const { node } = server;
  if (backend === undefined || node === undefined) throw new Error('There is no local server.');
  // It does not notice the end of its server before it thaws.
  process.kill(backend.pid, 'SIGSTOP');
  await node.stop('SIGKILL');

  const starting = node.start();
  await until(async () =>
    (await readFile(node.logFile, 'utf8')).includes('pre-existing shared memory block'),
  );
  process.kill(backend.pid, 'SIGCONT');

  await starting;
  expect(await query(server.url, 'select 1 as one')).toEqual([{ one: 1 }]);
});

test.concurrent('only a server that need not be durable turns fsync off', async ({ onTestFinished }) => {
  const { env } = await ownCache({ onTestFinished });
  const server = await startPostgres({ env, durable: false });
  onTestFinished(() => server.stop());

  expect(await query(server.url, 'show fsync')).toEqual([{ fsync: 'off' }]);
});

test.concurrent('a kept folder has its data and the same login at the next start, and only one user at a time', async ({
  onTestFinished,
}) => {
  const { env } = await ownCache({ onTestFinished });
  const first = await startPostgres({ env, keep: 'mine' });
  onTestFinished(() => first.stop());
  await query(first.url, 'create table kept as select 1 as one');
  await expect(startPostgres({ env, keep: 'mine' })).rejects.toMatchObject({
    code: 'OUTBOX_SERVER_UNAVAILABLE',
    details: { pid: process.pid },
  });
  await first.stop();

  const second = await startPostgres({ env, keep: 'mine' });
  onTestFinished(() => second.stop());

  expect(await query(second.url, 'select one from kept')).toEqual([{ one: 1 }]);
  expect(new URL(second.url).password).toBe(new URL(first.url).password);
});

test.concurrent('Temporal from the registry has its search attributes and its UI, also after kill -9 and a restart', async ({
  onTestFinished,
}) => {
  const { env } = await ownCache({ onTestFinished });
  const server = await startTemporal({ env });
  onTestFinished(() => server.stop());

  await server.node?.stop('SIGKILL');
  await server.node?.start();

  const connection = await Connection.connect({ address: server.address });
  onTestFinished(() => connection.close());
  const { customAttributes } = await connection.operatorService.listSearchAttributes({
    namespace: server.namespace,
  });
  expect(Object.keys(customAttributes ?? {})).toEqual(expect.arrayContaining([...searchAttributes]));
  const page = await fetch(server.uiUrl);
  expect(page.status).toBe(200);
  expect(await page.text()).toContain('<html');
});

test.concurrent('one of two brokers is killed with -9 and restarts on its port with its messages', async ({
  onTestFinished,
}) => {
  const { cache, env } = await ownCache({ onTestFinished });
  const cluster = await startKafka({ env, brokers: 2 });
  onTestFinished(() => cluster.stop());
  const client = new Kafka({ brokers: [...cluster.brokers], logLevel: logLevel.NOTHING });
  const admin = client.admin();
  await admin.connect();
  onTestFinished(() => admin.disconnect());
  const onSecond = [{ partition: 0, replicas: [2] }];
  await admin.createTopics({
    waitForLeaders: true,
    topics: [{ topic: 'kept', replicaAssignment: onSecond }],
  });
  const producer = client.producer({ allowAutoTopicCreation: false });
  await producer.connect();
  await producer.send({ topic: 'kept', messages: [{ value: 'one' }] });
  await producer.disconnect();
  const second = cluster.nodes[1];

  await second?.stop('SIGKILL');
  expect(second?.pid).toBeUndefined();
  await expect(admin.fetchTopicOffsets('kept')).rejects.toThrow(/./);
  await second?.start();

  const offsets = await vi.waitUntil(() => admin.fetchTopicOffsets('kept').catch(() => undefined), 30_000);
  expect(offsets).toMatchObject([{ partition: 0, high: '1' }]);
  await cluster.stop();
  expect(leftIn(cache)).toEqual([]);
});

test.concurrent('Redis from the registry keeps every write over kill -9 and a restart, and leaves nothing behind', async ({
  onTestFinished,
}) => {
  const { cache, env } = await ownCache({ onTestFinished });
  const server = await startRedis({ env });
  onTestFinished(() => server.stop());
  expect(server.source).toBe('registry');
  const written = await onRedis(server.url, async (redis) => {
    await Promise.all(Array.from({ length: 1_000 }, (_, n) => redis.set(`key-${n}`, 'kept')));
    return redis.dbSize();
  });

  await server.node?.stop('SIGKILL');
  await expect(onRedis(server.url, (redis) => redis.ping())).rejects.toThrow(/ECONNREFUSED/);
  await server.node?.start();

  expect(await onRedis(server.url, (redis) => redis.dbSize())).toBe(written);
  await server.stop();
  await server.stop();
  expect(leftIn(cache)).toEqual([]);
});

test.concurrent('the time-skipping server skips time', async ({ onTestFinished }) => {
  const { env } = await ownCache({ onTestFinished });
  const environment = await startTimeSkipping({ onTestFinished }, env);

  const before = await environment.currentTimeMs();
  await environment.sleep('30 days');
  expect((await environment.currentTimeMs()) - before).toBeGreaterThanOrEqual(30 * 86_400_000);
});

async function query(connectionString: string, text: string): Promise<readonly unknown[]> {
  const client = new pg.Client({ connectionString });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query<object>(text)).rows;
  } finally {
    await client.end();
  }
}

async function onRedis<T>(
  url: string,
  work: (redis: ReturnType<typeof createClient>) => Promise<T>,
): Promise<T> {
  const redis = createClient({ url, socket: { reconnectStrategy: false } });
  redis.on('error', () => {});
  await redis.connect();
  try {
    return await work(redis as ReturnType<typeof createClient>);
  } finally {
    redis.destroy();
  }
}
