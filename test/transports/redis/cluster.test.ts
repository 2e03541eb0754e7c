import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { redisList, redisPubSub, redisStream } from '../../../src/transports.ts';
import { ownRedis, redisAt } from '../../support/fixtures/own-redis.ts';
import { until } from '../../support/fixtures/until.ts';
import { joins } from './member.ts';
import { kindOf } from './publishing.ts';

const slots = 16_384;

/** A cluster of three primaries. */
async function ownCluster() {
  const nodes = await Promise.all(Array.from({ length: 3 }, () => ownRedis(['--cluster-enabled', 'yes'])));
  const clients = await Promise.all(nodes.map(({ url }) => redisAt(url)));
  for (const [n, client] of clients.entries()) {
    const own = Array.from({ length: slots }, (_, slot) => slot).filter((slot) => slot % 3 === n);
    await client.sendCommand(['CLUSTER', 'ADDSLOTS', ...own.map(String)]);
    await client.sendCommand(['CLUSTER', 'MEET', '127.0.0.1', new URL(nodes[0]?.url ?? '').port]);
  }
  await until(async () => {
    const told = await Promise.all(clients.map((client) => client.sendCommand<string>(['CLUSTER', 'INFO'])));
    return told.every((text) => text.includes('cluster_state:ok') && text.includes('cluster_size:3'));
  }, 30_000);
  return { clients, urls: nodes.map(({ url }) => url) };
}

test('a cluster is refused by name, by senders as by consumers, and nothing is stored in it', {
  tags: ['redis-keeps-what-it-acknowledged'],
}, async () => {
  const { clients, urls } = await ownCluster();
  const [url = ''] = urls;
  const error = {
    code: 'OUTBOX_SERVER_UNFIT',
    message: expect.stringMatching(/^Redis at 127\.0\.0\.1:\d+ is a node of a Redis Cluster\./),
    details: { mode: 'cluster', server: new URL(url).host },
  };
  // Some of these would belong to this node.
  const addresses = Array.from({ length: 12 }, () => `orders-${randomUUID()}`);
  for (const make of [redisStream, redisList, redisPubSub]) {
    const transport = make({ url });
    onTestFinished(() => transport.close());
    for (const address of addresses) {
      expect(await kindOf(transport, address)).toMatch(
        /^deferred, transport: .* is a node of a Redis Cluster\./,
      );
      await expect(transport.probe(address)).rejects.toMatchObject(error);
    }
  }
  expect(await Promise.all(clients.map((client) => client.dbSize()))).toEqual([0, 0, 0]);

  for (const make of [redisStream, redisList]) {
    const transport = make({ url });
    onTestFinished(() => transport.close());
    // At once: to wait longer would change nothing.
    await expect(joins(transport.source(), 'orders', { joinWithinMs: 600_000 })).rejects.toMatchObject(error);
  }
});

test('a user who may not ask for the kind of a server can use it', async () => {
  const { url } = await ownRedis();
  const admin = await redisAt(url);
  await admin.sendCommand(['ACL', 'SETUSER', 'ada', 'on', '>secret', '~*', '&*', '+@all', '-info']);
  const transport = redisStream({ url, credentials: { username: 'ada', password: 'secret' } });
  onTestFinished(() => transport.close());
  expect(await kindOf(transport, 'orders')).toBe('acknowledged');
  await (await joins(transport.source(), 'orders')).has(3);
});
