import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { redisListSource } from '../../../src/brokers/redis/source/list-source.ts';
import { readerPaces } from '../../../src/brokers/redis/source/queue-reader.ts';
import { redisStreamSource } from '../../../src/brokers/redis/source/stream-source.ts';
import { redisList, redisStream, type Source, type Transport } from '../../../src/transports.ts';
import { ownRedis, redisAt } from '../../support/fixtures/own-redis.ts';
import { redisServerAt } from '../../support/fixtures/redis-server.ts';
import { until } from '../../support/fixtures/until.ts';
import { freeze } from '../../support/processes/frozen-process.ts';
import { joins, numbersOf } from './member.ts';
import { kindOf, messagesOf } from './publishing.ts';
import { proxied, serverUrl } from './redis-subject.ts';

/** As members have them, but quicker; on a busy machine a renewal may be late by a second or two. */
const paces = { ...readerPaces, leaseMs: 2_400, renewEveryMs: 300, standbyMs: 50, newsMs: 300 };
const settings = (url: string, clientName: string) => ({
  server: redisServerAt({ url, clientName }),
  requestTimeoutMs: 1_000,
});

/** Who waited for these to pass would fail. */
const calm = { ...paces, leaseMs: 120_000 };
const patient = { ...calm, newsMs: 120_000 };

interface Kind {
  readonly name: string;
  sourceAt(url: string, by?: typeof paces, clientName?: string): Source;
  transportAt(url: string): Transport;
}

const stream: Kind = {
  name: 'stream',
  sourceAt: (url, by = paces, clientName = 'test') =>
    redisStreamSource({ ...settings(url, clientName), claimAfterMs: 1_000, order: true }, by),
  transportAt: (url) => redisStream({ url }),
};

const list: Kind = {
  name: 'list',
  sourceAt: (url, by = paces, clientName = 'test') => redisListSource(settings(url, clientName), by),
  transportAt: (url) => redisList({ url }),
};

const kinds = [stream, list];

function sender(kind: Kind, url = serverUrl): Transport {
  const transport = kind.transportAt(url);
  onTestFinished(() => transport.close());
  return transport;
}

async function proxyOf(url = serverUrl) {
  const through = await proxied(url);
  onTestFinished(() => through.proxy.close());
  return through;
}

test.each(kinds)(
  'one member reads a $name, and another takes over at once when it stops',
  { tags: ['one-reader-of-a-redis-stream'] },
  async (kind) => {
    const address = `orders-${randomUUID()}`;
    const first = await joins(kind.sourceAt(serverUrl, calm), address);
    const second = await joins(kind.sourceAt(serverUrl, calm), address);
    const transport = sender(kind);
    await kindOf(transport, address, messagesOf(['k'], 30));
    await first.has(30);
    expect([first.isReading(), second.isReading()]).toEqual([true, false]);

    await first.stop();
    await kindOf(transport, address, messagesOf(['k'], 30));
    await second.has(30);
    expect(first.received).toHaveLength(30);
  },
);

test.each(kinds)(
  'a waiting reader of a $name receives new messages at once, without polling',
  { tags: ['one-reader-of-a-redis-stream'] },
  async (kind) => {
    const address = `orders-${randomUUID()}`;
    const observer = await redisAt(serverUrl);
    const member = await joins(kind.sourceAt(serverUrl, patient, address), address);
    await until(async () =>
      (await observer.clientList()).some(({ flags, name }) => name === address && flags.includes('b')),
    );

    await kindOf(sender(kind), address, messagesOf(['k'], 3));
    await member.has(3);
  },
);

test.each(kinds)(
  'a disconnected reader of a $name is notified that it has lost it, and the next one receives its open messages',
  { tags: ['one-reader-of-a-redis-stream'] },
  async (kind) => {
    const { proxy, url } = await proxyOf();
    const address = `orders-${randomUUID()}`;
    let lost = false;
    const first = await joins(kind.sourceAt(url), address, {
      async take(batch) {
        await new Promise<void>((resolve) => {
          batch.lost.addEventListener('abort', () => resolve());
        });
        lost = true;
        for (const message of batch.messages) batch.acknowledge(message);
      },
    });
    await kindOf(sender(kind), address, messagesOf(['k'], 20));
    await until(() => first.received.length === 10);
    const second = await joins(kind.sourceAt(serverUrl), address);

    proxy.inject({ kind: 'blackhole' });
    await second.has(20);

    expect(numbersOf(second.received)).toEqual(Array.from({ length: 20 }, (_, n) => n));
    await until(() => lost);
    proxy.heal();
    // It returns as a standby.
    await until(() => !first.isReading());
    await kindOf(sender(kind), address, messagesOf(['k'], 5));
    await second.has(25);
    expect(first.received).toHaveLength(10);
  },
);

test('a list is read again after its server was killed, and no acknowledged message is lost', async () => {
  const server = await ownRedis(['--appendfsync', 'always']);
  const transport = sender(list, server.url);
  const member = await joins(list.sourceAt(server.url), 'orders');
  await kindOf(transport, 'orders', messagesOf(['k'], 10));
  await member.has(10);
  await server.node.stop('SIGKILL');
  await until(() => member.errors.length > 0);
  await server.node.start();

  await until(() => transport.probe('orders').then(() => true));
  expect(await kindOf(transport, 'orders', messagesOf(['k'], 10))).toBe('acknowledged');
  await until(() => new Set(member.received.map(({ offset }) => offset)).size === 20);
  await expect.poll(() => member.lag()).toEqual([{ address: 'orders', partition: 0, messages: 0 }]);
});

test('a member of a stream whose server froze rejoins, and everything arrives in order', async () => {
  const server = await ownRedis();
  const transport = sender(stream, server.url);
  const member = await joins(stream.sourceAt(server.url), 'orders');
  await kindOf(transport, 'orders', messagesOf(['k'], 10));
  await member.has(10);
  const pid = server.node.pid ?? 0;
  await freeze(pid);
  // It notices by itself, though nothing is sent.
  await until(() => member.errors.length > 0);
  process.kill(pid, 'SIGCONT');

  await transport.probe('orders');
  expect(await kindOf(transport, 'orders', messagesOf(['k'], 10))).toBe('acknowledged');
  await until(() => new Set(member.received.map(({ offset }) => offset)).size === 20);
  const expected = Array.from({ length: 10 }, (_, n) => n);
  expect([...new Set(numbersOf(member.received.slice(-10)))]).toEqual(expected);
});

test.each(kinds)(
  'a $name that was deleted with all keys is created again, and new messages arrive',
  async (kind) => {
    const server = await ownRedis();
    const transport = sender(kind, server.url);
    const member = await joins(kind.sourceAt(server.url), 'orders');
    await kindOf(transport, 'orders', messagesOf(['k'], 10));
    await member.has(10);
    const admin = await redisAt(server.url);
    await admin.flushAll();

    expect(await kindOf(transport, 'orders', messagesOf(['k'], 10))).toBe('acknowledged');
    await member.has(20);
    expect(new Set(member.received.map(({ offset }) => offset)).size).toBe(20);
  },
);

test('a consumer that cannot reach its server in time fails with the reason', async () => {
  const { proxy, url } = await proxyOf();
  proxy.inject({ kind: 'reset' });

  await expect(joins(stream.sourceAt(url), 'orders', { joinWithinMs: 500 })).rejects.toMatchObject({
    code: 'OUTBOX_SERVER_UNAVAILABLE',
    message: expect.stringMatching(/^The group "billing" could not be joined at 127\.0\.0\.1:\d+: \S/),
  });
});
