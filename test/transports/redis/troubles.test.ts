import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Transport } from '../../../src/transports.ts';
import { redisList, redisPubSub, redisStream } from '../../../src/transports.ts';
import { ownRedis, redisAt } from '../../support/fixtures/own-redis.ts';
import { until } from '../../support/fixtures/until.ts';
import { kindOf, messagesOf, publish } from './publishing.ts';

type Admin = Awaited<ReturnType<typeof redisAt>>;

interface Trouble {
  readonly name: string;
  readonly begin: (admin: Admin) => Promise<unknown>;
  readonly end: (admin: Admin) => Promise<unknown>;
  readonly scope: 'topic' | 'transport';
  readonly reason: RegExp;
  /** Channels are written to nowhere, and so pass on what lists and streams refuse. */
  readonly spares: boolean;
}

const commands =
  (...texts: readonly string[]) =>
  async (admin: Admin): Promise<void> => {
    for (const text of texts) await admin.sendCommand(text.split(' '));
  };

const troubles: readonly Trouble[] = [
  {
    name: 'whose memory is full',
    begin: commands('CONFIG SET maxmemory 1'),
    end: commands('CONFIG SET maxmemory 0'),
    scope: 'transport',
    reason: /^OOM /,
    spares: true,
  },
  {
    name: 'that cannot write to its disk',
    async begin(admin) {
      const { dir = '' } = await admin.configGet('dir');
      // Nothing can be put in the place of a folder.
      await mkdir(join(dir, 'dump.rdb'));
      await admin.configSet('save', '3600 1');
      await until(async () => {
        await admin.bgSave().catch(() => undefined);
        return (await admin.info('persistence')).includes('rdb_last_bgsave_status:err');
      });
    },
    end: (admin) => admin.configSet('save', ''),
    scope: 'transport',
    reason: /^MISCONF /,
    spares: true,
  },
  {
    name: 'that has become a replica',
    begin: commands('REPLICAOF 127.0.0.1 1'),
    end: commands('REPLICAOF NO ONE'),
    scope: 'transport',
    reason: /^READONLY /,
    spares: true,
  },
  {
    name: 'that has lost its primary and serves nothing without it',
    begin: commands('CONFIG SET replica-serve-stale-data no', 'REPLICAOF 127.0.0.1 1'),
    end: commands('REPLICAOF NO ONE'),
    scope: 'transport',
    reason: /^(?:MASTERDOWN|READONLY) /,
    spares: false,
  },
  {
    name: 'that loads its data',
    begin: beginLoading,
    end: (admin) => until(async () => (await admin.sendCommand<string>(['REPLICAOF', 'NO', 'ONE'])) === 'OK'),
    scope: 'transport',
    reason: /^(?:LOADING|READONLY) /,
    spares: false,
  },
  {
    name: 'with fewer replicas than required',
    begin: commands('CONFIG SET min-replicas-to-write 1'),
    end: commands('CONFIG SET min-replicas-to-write 0'),
    scope: 'transport',
    reason: /^NOREPLICAS /,
    spares: true,
  },
  {
    name: 'that forbids the address',
    begin: commands('ACL SETUSER default resetkeys resetchannels ~others* &others*'),
    end: commands('ACL SETUSER default allkeys allchannels'),
    scope: 'topic',
    reason: /^NOPERM /,
    spares: false,
  },
  {
    name: 'that now requires a password',
    begin: commands('CONFIG SET requirepass late', 'CLIENT KILL TYPE normal SKIPME yes'),
    end: (admin) => admin.configSet('requirepass', ''),
    scope: 'transport',
    reason: /NOAUTH /,
    spares: false,
  },
];

test.each(troubles)(
  'a server $name causes a hold with its reason, and the probe succeeds once it is over',
  async ({ begin, end, reason, scope, spares }) => {
    const server = await ownRedis();
    const admin = await redisAt(server.url);
    const options = { url: server.url };
    const ending = <Made extends Transport>(transport: Made): Made => {
      onTestFinished(() => transport.close());
      return transport;
    };
    const storing = [ending(redisStream(options)), ending(redisList(options))];
    const channels = ending(redisPubSub(options));
    const all = [...storing, channels];
    for (const transport of all)
      expect(await kindOf(transport, `orders-${transport.name}`)).toBe('acknowledged');
    await begin(admin);

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

    await end(admin);
    for (const transport of all) {
      const address = `orders-${transport.name}`;
      await transport.probe(address);
      expect(await kindOf(transport, address)).toBe('acknowledged');
    }
  },
);

/** It gets a copy of another server, and loads that for six seconds or more: it answers after every two million bytes. */
async function beginLoading(admin: Admin): Promise<void> {
  const primary = await ownRedis();
  const other = await redisAt(primary.url);
  await commands('CONFIG SET rdbcompression no', 'CONFIG SET repl-diskless-sync no')(other);
  const values = "for n = 1, 1000 do redis.call('SET', n, string.rep('x', 100000)) end";
  await other.sendCommand(['EVAL', values, '0']);
  await admin.configSet('key-load-delay', '6000');
  await commands(`REPLICAOF 127.0.0.1 ${new URL(primary.url).port}`)(admin);
  await until(async () => (await admin.info('persistence')).includes('\nloading:1'));
}
