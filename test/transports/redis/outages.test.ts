import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import type { ReceivingTransport, Transport } from '../../../src/transports.ts';
import { redisList, redisPubSub, redisStream } from '../../../src/transports.ts';
import { ownRedis, redisAt } from '../../support/fixtures/own-redis.ts';
import { listMessages, streamMessages } from '../../support/fixtures/redis-contents.ts';
import { until } from '../../support/fixtures/until.ts';
import { freeze } from '../../support/processes/frozen-process.ts';
import { kindOf, messagesOf, publish } from './publishing.ts';
import { proxied } from './redis-subject.ts';

/** Long enough for a busy machine, and short enough to wait for where no answer comes. */
const requestTimeout = 2_000;

function ending<Made extends Transport>(transport: Made): Made {
  onTestFinished(() => transport.close());
  return transport;
}

test.each<[string, (url: string) => Transport, typeof streamMessages]>([
  ['stream', (url) => redisStream({ url, requestTimeout }), streamMessages],
  ['list', (url) => redisList({ url, requestTimeout }), listMessages],
])(
  'with appendfsync always, a killed server loses no acknowledged message of a %s, and keys keep their order',
  { tags: ['redis-keeps-what-it-acknowledged'] },
  async (_kind, make, contents) => {
    const server = await ownRedis(['--appendfsync', 'always']);
    const transport = ending(make(server.url));
    const acknowledged: string[] = [];
    const keys = ['a', 'b', 'c'];
    let open = messagesOf(keys, 3_000);
    let kills = 0;
    while (open.length > 0) {
      const batch = open.slice(0, 100);
      const kill = kills < 2 && open.length <= 2_400 - kills * 900;
      const answer = publish(transport, 'orders', batch);
      if (kill) {
        kills += 1;
        await server.node.stop('SIGKILL');
        await server.node.start();
      }
      const { outcomes } = await answer;
      acknowledged.push(...batch.filter((_, n) => outcomes[n]?.kind === 'acknowledged').map(({ id }) => id));
      // As the relay does: what was not acknowledged goes first, in its order.
      const left = batch.filter((_, n) => outcomes[n]?.kind !== 'acknowledged');
      open = [...left, ...open.slice(100)];
      if (left.length > 0)
        await until(() =>
          transport.probe('orders').then(
            () => true,
            () => false,
          ),
        );
    }

    const stored = await contents(await redisAt(server.url), 'orders');
    const ids = new Set(stored.map(({ id }) => id));
    expect(kills).toBe(2);
    expect(acknowledged.filter((id) => !ids.has(id))).toEqual([]);
    expect(ids.size).toBe(3_000);
    for (const key of keys) {
      const numbers = stored
        .filter((one) => one.key === key)
        .map(({ payload }) => Number(/\d+/.exec(payload)?.[0]));
      const first = numbers.filter((n, at) => numbers.indexOf(n) === at);
      expect(first).toEqual(first.toSorted((a, b) => a - b));
    }
  },
);

test('a frozen server holds the transport, messages in flight may be stored, and delivery continues afterwards', async () => {
  const server = await ownRedis();
  const transport = ending(redisStream({ url: server.url, requestTimeout }));
  expect(await kindOf(transport, 'orders')).toBe('acknowledged');
  const pid = server.node.pid ?? 0;
  await freeze(pid);

  await expectSilence(transport);

  process.kill(pid, 'SIGCONT');
  await transport.probe('orders');
  expect(await kindOf(transport, 'orders')).toBe('acknowledged');
});

test('a silent network has the effect of a frozen server', async () => {
  const { proxy, url } = await proxied();
  onTestFinished(() => proxy.close());
  const transport = ending(redisList({ url, requestTimeout }));
  const address = `orders-${randomUUID()}`;
  expect(await kindOf(transport, address)).toBe('acknowledged');
  proxy.inject({ kind: 'blackhole' });

  await expectSilence(transport, address);

  expect(proxy.fired('blackhole')).toBeGreaterThan(0);
  proxy.heal();
  await transport.probe(address);
  expect(await kindOf(transport, address)).toBe('acknowledged');
});

/** The first batch is ambiguous and ends the connection; new ones are accepted, but nothing answers on them. */
async function expectSilence(transport: Transport, address = 'orders'): Promise<void> {
  const { hold, outcomes } = await publish(transport, address, messagesOf([null], 2));
  expect(outcomes).toEqual([
    { kind: 'deferred', onWire: true },
    { kind: 'deferred', onWire: true },
  ]);
  expect(hold).toEqual({ scope: 'transport', reason: `No answer within ${requestTimeout} ms.` });
  await expect(transport.probe(address)).rejects.toMatchObject({ code: 'OUTBOX_SERVER_UNAVAILABLE' });
  expect(await kindOf(transport, address)).toMatch(/^deferred, transport: No connection within/);
}

test('a killed server of a channel holds the transport, and new subscribers receive new messages', async () => {
  const server = await ownRedis();
  const transport = ending(redisPubSub({ url: server.url, requestTimeout, requireReceivers: true }));
  const before = await redisAt(server.url);
  await before.subscribe('orders', () => undefined);
  expect(await kindOf(transport, 'orders')).toBe('acknowledged');
  // Its client would subscribe again by itself.
  await before.unsubscribe('orders');
  await server.node.stop('SIGKILL');

  // Noticed on the old connection, or on a new one.
  expect(await kindOf(transport, 'orders')).toMatch(/^deferred, transport: /);
  expect(await kindOf(transport, 'orders')).toMatch(/^deferred, transport: .*ECONNREFUSED/);
  await expect(transport.probe('orders')).rejects.toThrow('ECONNREFUSED');
  await server.node.start();
  await transport.probe('orders');
  // The new server has no subscribers yet and keeps nothing.
  expect(await kindOf(transport, 'orders')).toMatch(/^rejected/);
  const received: string[] = [];
  const after = await redisAt(server.url);
  await after.subscribe('orders', (text) => void received.push(text));
  expect(await kindOf(transport, 'orders')).toBe('acknowledged');
  await until(() => received.length === 3);
});

test('a lost connection affects at most the batch in flight', async () => {
  const server = await ownRedis();
  const admin = await redisAt(server.url);
  const stream = ending(redisStream({ url: server.url, clientName: 'ours' }));
  await kindOf(stream, 'orders');

  await admin.sendCommand(['CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes']);
  await until(async () => !(await admin.clientList()).some(({ name }) => name === 'ours'));
  await until(async () => (await kindOf(stream, 'orders')) === 'acknowledged');
});

test('a server that is busy with a script causes a hold', async () => {
  const server = await ownRedis();
  const admin = await redisAt(server.url);
  const stream = ending(redisStream({ url: server.url }));
  await kindOf(stream, 'orders');
  await admin.configSet('lua-time-limit', '50');
  const busy = admin.sendCommand(['EVAL', 'while true do end', '0']).catch(() => undefined);

  expect(await kindOf(stream, 'orders')).toMatch(/^deferred, transport: BUSY /);

  const killer = await redisAt(server.url);
  await killer.sendCommand(['SCRIPT', 'KILL']);
  await busy;
  await stream.probe('orders');
  expect(await kindOf(stream, 'orders')).toBe('acknowledged');
});

test('a key of another type holds only its own address', async () => {
  const server = await ownRedis();
  const admin = await redisAt(server.url);
  await admin.set('orders', 'a text');
  for (const transport of [
    ending(redisStream({ url: server.url })),
    ending(redisList({ url: server.url })),
  ]) {
    expect(await kindOf(transport, 'orders')).toMatch(/^deferred, topic: WRONGTYPE /);
    await expect(transport.probe('orders')).rejects.toThrow(/WRONGTYPE/);
    expect(await kindOf(transport, `others-${transport.name}`)).toBe('acknowledged');
  }
});

test.each([
  ['redisStream', redisStream],
  ['redisList', redisList],
] as const)(
  '%s with replicas acknowledges messages that enough replicas have, and reports the rest as ambiguous',
  { tags: ['redis-keeps-what-it-acknowledged'] },
  async (_name, make) => {
    const [server, second] = await Promise.all([ownRedis(), ownRedis()]);
    const transport = ending(make({ url: server.url, replicas: 1, replicaTimeout: 300 }));
    const patient = ending(make({ url: server.url, replicas: 1, replicaTimeout: '4s' }));

    const { outcomes } = await publish(transport, 'orders', messagesOf(['k'], 1));
    expect(outcomes).toEqual([
      { kind: 'ambiguous', error: 'Stored, but 0 of 1 replicas had it after 300 ms.' },
    ]);

    const replica = await redisAt(second.url);
    await replica.sendCommand(['REPLICAOF', '127.0.0.1', new URL(server.url).port]);
    await until(async () => (await kindOf(patient, 'orders')) === 'acknowledged');
    expect(await kindOf(patient, 'last')).toBe('acknowledged');
    expect(await replica.exists('last')).toBe(1);
  },
);

test('a full server can be emptied: consumers take over a list and acknowledge, and publishing continues', async () => {
  const server = await ownRedis();
  const admin = await redisAt(server.url);
  const list: ReceivingTransport = ending(redisList({ url: server.url, requestTimeout }));
  expect(await kindOf(list, 'orders', messagesOf(['k'], 500))).toBe('acknowledged');
  await admin.configSet('maxmemory', '1');
  expect(await kindOf(list, 'orders')).toMatch(/^deferred, transport: OOM /);

  let received = 0;
  const subscribed = await list.source().subscribe({
    addresses: ['orders'],
    group: 'billing',
    concurrency: 1,
    batchSize: 100,
    fromBeginning: true,
    joinWithinMs: 30_000,
    assigned: () => undefined,
    disconnected: () => undefined,
    async handle(batch) {
      for (const message of batch.messages) batch.acknowledge(message);
      received += batch.messages.length;
    },
  });
  await until(async () => received === 500 && (await admin.lLen('orders:processing')) === 0);
  await subscribed.stop();
  await admin.configSet('maxmemory', '0');
  await list.probe('orders');
  expect(await kindOf(list, 'orders')).toBe('acknowledged');
});
