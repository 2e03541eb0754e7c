import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import type { ReceivingTransport, Transport } from '../../../src/transports.ts';
import { redisList, redisPubSub, redisStream } from '../../../src/transports.ts';
import { ownRedis, redisAt } from '../../support/fixtures/own-redis.ts';
import { listMessages, streamMessages } from '../../support/fixtures/redis-contents.ts';
import { until } from '../../support/fixtures/until.ts';
import { kindOf, messagesOf, publish } from './publishing.ts';

const requestTimeout = 500;

function ending<Made extends Transport>(transport: Made): Made {
  onTestFinished(() => transport.close());
  return transport;
}

test.each<[string, (url: string) => Transport, typeof streamMessages]>([
  ['stream', (url) => redisStream({ url, requestTimeout }), streamMessages],
  ['list', (url) => redisList({ url, requestTimeout }), listMessages],
])(
  'with appendfsync always, a server of a %s that is killed loses nothing that was acknowledged, and keys keep their order',
  async (_kind, make, contents) => {
    const server = await ownRedis();
    const admin = await redisAt(server.url);
    await admin.configSet('appendfsync', 'always');
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

    const held = await contents(await redisAt(server.url), 'orders');
    const ids = new Set(held.map(({ id }) => id));
    expect(kills).toBe(2);
    expect(acknowledged.filter((id) => !ids.has(id))).toEqual([]);
    expect(ids.size).toBe(3_000);
    for (const key of keys) {
      const numbers = held
        .filter((one) => one.key === key)
        .map(({ payload }) => Number(/\d+/.exec(payload)?.[0]));
      const first = numbers.filter((n, at) => numbers.indexOf(n) === at);
      expect(first).toEqual(first.toSorted((a, b) => a - b));
    }
  },
);

test('a frozen server is a hold of the transport, whose messages may be stored; after it all goes on', async () => {
  const server = await ownRedis();
  const stream = ending(redisStream({ url: server.url, requestTimeout }));
  expect(await kindOf(stream, 'orders')).toBe('acknowledged');
  process.kill(server.node.pid ?? 0, 'SIGSTOP');

  const { hold, outcomes } = await publish(stream, 'orders', messagesOf([null], 2));
  expect(outcomes).toEqual([
    { kind: 'deferred', onWire: true },
    { kind: 'deferred', onWire: true },
  ]);
  expect(hold).toEqual({ scope: 'transport', reason: 'No answer within 500 ms.' });
  // The system still takes connections for it.
  await expect(stream.probe('orders')).rejects.toMatchObject({ code: 'OUTBOX_SERVER_UNAVAILABLE' });
  expect(await kindOf(stream, 'orders')).toMatch(/^deferred, transport: No connection within/);

  process.kill(server.node.pid ?? 0, 'SIGCONT');
  await stream.probe('orders');
  expect(await kindOf(stream, 'orders')).toBe('acknowledged');
});

test('an ended connection costs at most the batch that meets it', async () => {
  const server = await ownRedis();
  const admin = await redisAt(server.url);
  const stream = ending(redisStream({ url: server.url, clientName: 'ours' }));
  await kindOf(stream, 'orders');

  await admin.sendCommand(['CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes']);
  await until(async () => !(await admin.clientList()).some(({ name }) => name === 'ours'));
  await until(async () => (await kindOf(stream, 'orders')) === 'acknowledged');
});

interface Trouble {
  readonly name: string;
  readonly begin: readonly (readonly string[])[];
  readonly end: readonly (readonly string[])[];
  readonly scope: 'topic' | 'transport';
  readonly reason: RegExp;
  /** Channels are written to nowhere, and so pass on what lists and streams refuse. */
  readonly spares: boolean;
}

const troubles: readonly Trouble[] = [
  {
    name: 'whose memory is full',
    begin: [['CONFIG', 'SET', 'maxmemory', '1']],
    end: [['CONFIG', 'SET', 'maxmemory', '0']],
    scope: 'transport',
    reason: /^OOM /,
    spares: true,
  },
  {
    name: 'that has become a replica',
    begin: [['REPLICAOF', '127.0.0.1', '1']],
    end: [['REPLICAOF', 'NO', 'ONE']],
    scope: 'transport',
    reason: /^READONLY /,
    spares: true,
  },
  {
    name: 'with fewer replicas than it shall have',
    begin: [['CONFIG', 'SET', 'min-replicas-to-write', '1']],
    end: [['CONFIG', 'SET', 'min-replicas-to-write', '0']],
    scope: 'transport',
    reason: /^NOREPLICAS /,
    spares: true,
  },
  {
    name: 'that forbids the address',
    begin: [['ACL', 'SETUSER', 'default', 'resetkeys', 'resetchannels', '~others*', '&others*']],
    end: [['ACL', 'SETUSER', 'default', 'allkeys', 'allchannels']],
    scope: 'topic',
    reason: /^NOPERM /,
    spares: false,
  },
  {
    name: 'that asks for a password from now on',
    begin: [
      ['CONFIG', 'SET', 'requirepass', 'late'],
      ['CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'],
    ],
    end: [['CONFIG', 'SET', 'requirepass', '']],
    scope: 'transport',
    reason: /NOAUTH /,
    spares: false,
  },
];

test.each(troubles)(
  'a server $name is a hold with its reason, and the probe tells when it is over',
  async ({ begin, end, reason, scope, spares }) => {
    const server = await ownRedis();
    const admin = await redisAt(server.url);
    const options = { url: server.url, requestTimeout };
    const storing = [ending(redisStream(options)), ending(redisList(options))];
    const channels = ending(redisPubSub(options));
    const all = [...storing, channels];
    for (const transport of all)
      expect(await kindOf(transport, `orders-${transport.name}`)).toBe('acknowledged');
    for (const command of begin) await admin.sendCommand([...command]);

    for (const transport of spares ? storing : all) {
      const address = `orders-${transport.name}`;
      // A connection that was ended may be noticed by the first batch alone.
      await until(async () =>
        reason.test((await publish(transport, address, messagesOf(['k'], 1))).hold?.reason ?? ''),
      );
      const { hold, outcomes } = await publish(transport, address, messagesOf(['k', null], 4));
      expect(hold).toEqual({ scope, reason: expect.stringMatching(reason) });
      expect(new Set(outcomes.map((outcome) => JSON.stringify(outcome)))).toEqual(
        new Set(['{"kind":"deferred","onWire":false}']),
      );
      await expect(transport.probe(address)).rejects.toMatchObject({
        code: 'OUTBOX_SERVER_UNAVAILABLE',
        message: expect.stringMatching(reason.source.replace('^', ': ')),
      });
      if (scope === 'topic') expect(await kindOf(transport, `others-${transport.name}`)).toBe('acknowledged');
    }
    if (spares) expect(await kindOf(channels, 'orders-redis-pub-sub')).toBe('acknowledged');

    for (const command of end) await admin.sendCommand([...command]);
    for (const transport of all) {
      const address = `orders-${transport.name}`;
      await transport.probe(address);
      expect(await kindOf(transport, address)).toBe('acknowledged');
    }
  },
);

test('a server that is busy with a script is a hold', async () => {
  const server = await ownRedis();
  const admin = await redisAt(server.url);
  const stream = ending(redisStream({ url: server.url, requestTimeout: 2_000 }));
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

test('an address of another kind is a hold of that address alone', async () => {
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
  '%s with replicas acknowledges what they have, and is ambiguous about what they have not',
  async (_name, make) => {
    const [server, second] = await Promise.all([ownRedis(), ownRedis()]);
    const transport = ending(make({ url: server.url, replicas: 1, replicasWithin: 300 }));

    const { outcomes } = await publish(transport, 'orders', messagesOf(['k'], 1));
    expect(outcomes).toEqual([
      { kind: 'ambiguous', error: 'Stored, but 0 of 1 replicas had it after 300 ms.' },
    ]);

    const replica = await redisAt(second.url);
    await replica.sendCommand(['REPLICAOF', '127.0.0.1', new URL(server.url).port]);
    await until(async () => (await kindOf(transport, 'orders')) === 'acknowledged', 20_000);
    const id = randomUUID();
    await publish(transport, 'last', [{ id, key: null, payload: '', headers: {} }]);
    expect(await replica.exists('last')).toBe(1);
  },
);

test('a full server can be emptied: consumers take over a list and acknowledge, and publishing goes on', async () => {
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
    joinWithinMs: 5_000,
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
