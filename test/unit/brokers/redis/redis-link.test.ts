import { expect, onTestFinished, test } from 'vitest';
import { durabilityOf } from '../../../../src/brokers/redis/client/durability.ts';
import { ifRefused, refusalOf } from '../../../../src/brokers/redis/client/error-reply.ts';
import { LateReply, RedisLink } from '../../../../src/brokers/redis/client/redis-link.ts';
import { serverOf } from '../../../../src/brokers/redis/client/server-version.ts';
import { probeAddress } from '../../../../src/brokers/redis/transport/probe.ts';
import { redisServerAt } from '../../../support/fixtures/redis-server.ts';
import { type RedisReply, scriptedRedis } from '../../../support/fixtures/scripted-redis.ts';
import { until } from '../../../support/fixtures/until.ts';

const named = (command: readonly string[], ...names: readonly string[]): boolean =>
  names.includes(command.slice(0, 2).join(' ')) || names.includes(command[0] ?? '');

async function stage(answer?: (command: readonly string[]) => RedisReply | Promise<RedisReply>, ms = 1_000) {
  const server = await scriptedRedis(answer);
  const link = new RedisLink(redisServerAt({ url: server.url }), ms);
  onTestFinished(() => link.close());
  const get = (key = 'key', extraMs?: number): Promise<unknown> =>
    link.ask((client) => client.sendCommand(['GET', key]), extraMs);
  return { server, link, get };
}

const within = (ms: number) => ({ timeout: ms, interval: 5 });

test('a connection is opened at the first question, with the name and the database, and used for the next', async () => {
  const server = await scriptedRedis((command) => (named(command, 'GET') ? command[1] : 'OK'));
  const link = new RedisLink(redisServerAt({ url: `${server.url}/3`, clientName: 'shop' }), 1_000);
  onTestFinished(() => link.close());

  expect(server.connections().ever).toBe(0);
  expect(await link.ask((client) => client.sendCommand(['GET', 'a']))).toBe('a');
  expect(await link.ask((client) => client.sendCommand(['GET', 'b']))).toBe('b');

  expect(server.connections().ever).toBe(1);
  const told = server.commands.map((command) => command.join(' '));
  expect(told).toEqual(expect.arrayContaining(['HELLO 3 SETNAME shop', 'SELECT 3']));
  expect(told.filter((text) => /SETINFO|MAINT/i.test(text))).toEqual([]);
});

test('an error reply is passed on, and the connection stays', async () => {
  const { get, server } = await stage((command) => (named(command, 'GET') ? new Error('OOM full') : 'OK'));

  const error: unknown = await get().catch((refused: unknown) => refused);
  await get().catch(() => undefined);

  expect(refusalOf(error)).toBe('OOM full');
  expect(ifRefused('none')(error)).toBe('none');
  expect(() => ifRefused('none')(new Error('Socket closed'))).toThrow('Socket closed');
  expect(server.connections().ever).toBe(1);
});

test('after `renew` pending questions get their answers, and the next one a new connection', async () => {
  let answer = (_text: string): void => undefined;
  const late = new Promise<string>((resolve) => (answer = resolve));
  const { get, link, server } = await stage((command) =>
    named(command, 'GET') && command[1] === 'slow' ? late : 'OK',
  );

  const pending = get('slow');
  await until(() => server.commands.some(([name]) => name === 'GET'));
  link.renew();
  expect(await get('next')).toBe('OK');
  answer('at last');

  expect(await pending).toBe('at last');
  expect(server.connections().ever).toBe(2);
  // The replaced one is closed when it has nothing more to do.
  await expect.poll(() => server.connections().open, within(10_000)).toBe(1);
  link.renew();
  link.renew();
});

test('a replaced connection that stays silent is eventually closed', async () => {
  const { get, link, server } = await stage((command) => (named(command, 'GET') ? undefined : 'OK'), 500);

  const pending = get('never', 5_000).catch((error: unknown) => error);
  await until(() => server.commands.some(([name]) => name === 'GET'));
  link.renew();

  await expect.poll(() => server.connections().open, within(10_000)).toBe(0);
  expect(await pending).not.toBeInstanceOf(LateReply);
});

test('`close` ends every connection, also replaced ones, and is counted; a later question opens another', async () => {
  let silent = true;
  const { get, link, server } = await stage(
    (command) => (named(command, 'GET') && silent ? undefined : 'OK'),
    2_000,
  );
  const pending: Promise<unknown>[] = [get('one').catch((error: unknown) => error)];
  await until(() => server.commands.filter(([name]) => name === 'GET').length === 1);
  link.renew();
  pending.push(get('two').catch((error: unknown) => error));
  await until(() => server.commands.filter(([name]) => name === 'GET').length === 2);

  link.close();

  for (const error of await Promise.all(pending)) expect(error).not.toBeInstanceOf(LateReply);
  await expect.poll(() => server.connections().open, within(10_000)).toBe(0);
  expect(link.closings).toBe(1);
  silent = false;
  expect(await get()).toBe('OK');
  expect(server.connections().ever).toBe(3);
});

const info = (fields: Readonly<Record<string, string>>): string =>
  ['# Section', ...Object.entries(fields).map(([name, value]) => `${name}:${value}`)].join('\r\n');

test.each<[string, Readonly<Record<string, string>>]>([
  ['Redis 7.4.1', { redis_version: '7.4.1' }],
  ['valkey 8.0.1', { redis_version: '7.2.4', server_name: 'valkey', valkey_version: '8.0.1' }],
  ['other 7.2.4', { redis_version: '7.2.4', server_name: 'other' }],
  ['Redis', {}],
])('the server is named: %s', async (name, fields) => {
  const { link } = await stage((command) => (named(command, 'INFO') ? info(fields) : 'OK'));

  expect(await link.ask(serverOf)).toBe(name);
});

test('the persistence and limits of a server are read, and unknown if they may not be read', async () => {
  const sections: Record<string, RedisReply> = {
    persistence: info({ aof_enabled: '1' }),
    memory: info({ maxmemory: '1000', maxmemory_policy: 'noeviction' }),
    server: info({ redis_mode: 'standalone' }),
  };
  let allowed = true;
  const { link } = await stage((command) => {
    const [name, section = ''] = command;
    if (name !== 'INFO' && name !== 'CONFIG') return 'OK';
    if (!allowed) return new Error('NOPERM');
    return name === 'INFO' ? sections[section] : new Map([['appendfsync', 'always']]);
  });

  const known = await link.ask(durabilityOf);
  sections['persistence'] = info({ aof_enabled: '0' });
  const off = await link.ask(durabilityOf);
  allowed = false;
  const unknown = await link.ask(durabilityOf);

  expect(known).toEqual({
    appendOnly: true,
    appendFsync: 'always',
    eviction: 'noeviction',
    maxMemory: 1_000,
  });
  expect(off.appendOnly).toBe(false);
  expect(Object.values(unknown)).toEqual([undefined, undefined, undefined, undefined]);
});

const probe = { commands: [['EVAL'], ['XADD']], type: 'stream' } as const;

test.each<[string, Readonly<Record<string, RedisReply>>, RegExp | undefined, number]>([
  ['of the type', { TYPE: 'stream' }, undefined, 1],
  ['that does not exist', { TYPE: 'none' }, undefined, 1],
  ['whose type may not be asked', { TYPE: new Error('NOPERM') }, undefined, 1],
  ['of another type', { TYPE: 'list' }, /WRONGTYPE The key orders is of the type list, not stream/, 1],
  ['whose commands are refused', { XADD: new Error('OOM full') }, /OOM full/, 1],
  ['without transactions', { MULTI: new Error('NOPERM multi') }, /NOPERM multi/, 1],
  ['whose transaction stays open', { DISCARD: new Error('NOPERM discard') }, /NOPERM discard/, 0],
])('a probe of a key %s', async (_what, answers, error, open) => {
  const { link, server } = await stage((command) => answers[command[0] ?? ''] ?? 'OK');

  const probed = link.ask((client) => probeAddress(client, 'orders', probe));

  if (error === undefined) expect(await probed).toBeUndefined();
  else await expect(probed).rejects.toThrow(error);
  const names = server.commands.map(([name]) => name);
  expect(names).toEqual(expect.arrayContaining(['MULTI', 'EVAL', 'XADD', 'DISCARD']));
  await expect.poll(() => server.connections().open, within(10_000)).toBe(open);
});

test('a probe of what is not a key reads no type', async () => {
  const { link, server } = await stage();

  await link.ask((client) => probeAddress(client, 'orders', { ...probe, type: undefined }));

  expect(server.commands.map(([name]) => name)).not.toContain('TYPE');
});
