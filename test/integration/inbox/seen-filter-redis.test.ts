// @module-tag apart
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setImmediate as afterSockets } from 'node:timers/promises';
import { createClient } from '@redis/client';
import { beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { redisFilter } from '../../../src/brokers/redis/filter/redis-filter.ts';
import type {
  RedisFilterEvent,
  RedisFilterOptions,
} from '../../../src/brokers/redis/filter/redis-filter-options.ts';
import type { SeenFilter } from '../../../src/brokers/seen-filter.ts';
import { awake } from '../../support/fixtures/awake.ts';
import { ownRedis, redisAt } from '../../support/fixtures/own-redis.ts';
import { until } from '../../support/fixtures/until.ts';
import { freeze } from '../../support/processes/frozen-process.ts';

// The first question of a test must not depend on how busy the machine is.
const patient = '5s';

/** A filter under keys of its own, and what it told. */
function opened(options: Partial<RedisFilterOptions> = {}) {
  const events: RedisFilterEvent[] = [];
  const filter = redisFilter({
    url: inject('redisUrl'),
    prefix: `test:${randomUUID()}`,
    requestTimeout: patient,
    report: (event) => events.push(event),
    ...options,
  });
  onTestFinished(() => filter.close());
  return { filter, events };
}

const idsOf = (count: number) => Array.from({ length: count }, () => randomUUID());

/** How many of 2,000 calls at once were answered without a look at a socket or a timer. */
async function answeredAtOnce(filter: SeenFilter): Promise<number> {
  let answered = 0;
  const count = (): void => void (answered += 1);
  for (let n = 0; n < 1_000; n += 1) {
    void filter.seen('web', ['a']).then(count);
    void filter.add('web', [`lost-${n}`]).then(count);
  }
  await new Promise<void>((resolve) => process.nextTick(resolve));
  return answered;
}

/** How long it took, in milliseconds. */
async function timed(work: () => Promise<unknown>): Promise<number> {
  const beganMs = performance.now();
  await work();
  return performance.now() - beganMs;
}

const shared = createClient({ url: inject('redisUrl') });
beforeAll(async () => {
  await shared.connect();
  return () => shared.destroy();
});

test('a noted id is seen by every consumer, and no other id is', async () => {
  const prefix = `test:${randomUUID()}`;
  const one = opened({ prefix });
  const other = opened({ prefix });
  await one.filter.add('web', ['a', 'b']);

  expect(await other.filter.seen('web', ['a', 'b', 'c'])).toEqual(new Set(['a', 'b']));
  expect(await other.filter.seen('web', [])).toEqual(new Set());
});

test('groups, epochs and prefixes never mix, whatever their names', async () => {
  const prefix = `test:${randomUUID()}`;
  const { filter } = opened({ prefix, epoch: 'x' });
  await filter.add('a:b', ['id']);

  expect(await filter.seen('a', ['id'])).toEqual(new Set());
  expect(await filter.seen('a%3Ab', ['id'])).toEqual(new Set());
  expect(await opened({ prefix, epoch: 'x:a' }).filter.seen('b', ['id'])).toEqual(new Set());
  expect(await opened({ prefix, epoch: 'y' }).filter.seen('a:b', ['id'])).toEqual(new Set());
  expect(await opened({ prefix: `${prefix}:x` }).filter.seen('a:b', ['id'])).toEqual(new Set());
  expect(await filter.seen('a:b', ['id'])).toEqual(new Set(['id']));
});

test('10,000 ids are noted and seen at once, and take at most 130 bytes each', async () => {
  const server = await ownRedis();
  const { filter } = opened({ url: server.url });
  const redis = await redisAt(server.url);
  const used = async () => Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
  const ids = idsOf(10_000);
  await filter.add('web', ['first']);
  const before = await used();

  await filter.add('web', ids);

  expect((await filter.seen('web', [...ids, 'unknown'])).size).toBe(10_000);
  // Redis keeps the buffer of a long command for some seconds more.
  await until(async () => ((await used()) - before) / ids.length < 130);
});

test('an id is kept for the requested time, then it and its key are gone', async () => {
  const prefix = `test:${randomUUID()}`;
  const { filter } = opened({ prefix, keepFor: '2s' });
  const notedMs = performance.now();
  await filter.add('web', ['a']);
  const keys = await shared.keys(`${prefix}:*`);
  expect(keys).toHaveLength(1);
  expect(await shared.pTTL(keys[0] ?? '')).toBeLessThanOrEqual(2_500);

  await until(async () => (await filter.seen('web', ['a'])).size === 0);

  expect(performance.now() - notedMs).toBeGreaterThan(1_990);
  await until(async () => (await shared.keys(`${prefix}:*`)).length === 0);
});

test('a killed Redis has seen nothing, costs no time, is reported once, and is used again when it is back', async () => {
  const server = await ownRedis();
  const events: RedisFilterEvent[] = [];
  let resting: Promise<number> | undefined;
  const { filter } = opened({
    url: server.url,
    report(event) {
      events.push(event);
      // The rest has just begun, and a slow machine has not slept through it.
      if (event.type === 'redis-away') resting = answeredAtOnce(filter);
    },
  });
  await filter.add('web', ['a']);
  await server.node.stop('SIGKILL');

  // A wait for an answer would take 5 s.
  const awakeMs = awake();
  expect(await filter.seen('web', ['a'])).toEqual(new Set());
  expect(awakeMs()).toBeLessThan(4_000);
  await until(() => events.length > 0);
  expect(await resting).toBe(2_000);
  expect(events).toMatchObject([{ type: 'redis-away', retryInMs: 1_000 }]);

  await server.node.start();
  await until(async () => (await filter.seen('web', ['a'])).has('a'));
  expect(events.map(({ type }) => type)).toEqual(['redis-away', 'redis-back']);
  expect(await filter.seen('web', ['lost-0'])).toEqual(new Set());
});

test('a Redis that stops answering costs one bounded wait, and none during the pause after it', async () => {
  const server = await ownRedis();
  const events: RedisFilterEvent[] = [];
  let resting: Promise<number> | undefined;
  const { filter } = opened({
    url: server.url,
    requestTimeout: '500ms',
    report(event) {
      events.push(event);
      resting = event.type === 'redis-away' ? answeredAtOnce(filter) : undefined;
    },
  });
  await until(async () => {
    await filter.add('web', ['a']);
    return (await filter.seen('web', ['a'])).has('a');
  });
  await frozen(server.node.pid);
  const told = events.length;

  const together = await timed(() => Promise.all(idsOf(6).map((id) => filter.seen('web', ['a', id]))));
  expect(together).toBeGreaterThan(480);
  // A frozen Redis would never answer.
  expect(together).toBeLessThan(20_000);
  expect(events.slice(told)).toMatchObject([{ type: 'redis-away', retryInMs: 1_000 }]);
  expect(await resting).toBe(2_000);

  thaw(server.node.pid);
  // One rest of 1 s, or a few where the machine is slow. One for each question that waited would make half a minute.
  await until(async () => (await filter.seen('web', ['a'])).has('a'), 20_000);
  expect(events.at(-1)).toMatchObject({ type: 'redis-back' });
});

test('a full Redis is left alone without any effect on others', async () => {
  const server = await ownRedis();
  const redis = await redisAt(server.url);
  await redis.configSet('maxmemory', '1');
  const { filter, events } = opened({ url: server.url });

  await filter.add('web', ['a']);

  expect(events).toMatchObject([{ type: 'redis-away', retryInMs: 1_000 }]);
  expect(String(events[0]?.type === 'redis-away' && events[0].error)).toMatch(/OOM|EXECABORT/);
});

test('a connection that the server closed while idle is replaced at once', async () => {
  const { filter, events } = opened({ clientName: 'idle' });
  await filter.add('web', ['a']);
  const line = (await shared.clientList()).find(({ name }) => name === 'idle');
  await shared.sendCommand(['CLIENT', 'KILL', 'ID', String(line?.id)]);
  await until(async () => !(await shared.clientList()).some(({ name }) => name === 'idle'));
  // Redis closed it before it answered that; the filter's end of it is looked at in one of these turns.
  for (let turn = 0; turn < 5; turn += 1) await afterSockets();

  await until(async () => (await filter.seen('web', ['a'])).has('a'));
  expect(events).toEqual([]);
});

test('an answer that arrived while this process was busy is in time', async () => {
  const server = await ownRedis();
  const { filter, events } = opened({ url: server.url, requestTimeout: '2s' });
  await filter.add('web', ['a']);
  await frozen(server.node.pid);
  const question = filter.seen('web', ['a']);
  // The question is sent; its answer arrives while the process is busy, and is read long after its time.
  for (let turn = 0; turn < 3; turn += 1) await afterSockets();
  thaw(server.node.pid);
  const endMs = performance.now() + 3_000;
  while (performance.now() < endMs);

  expect(await question).toEqual(new Set(['a']));
  expect(events).toEqual([]);
});

test('an unreachable Redis is tried once per pause and reported once', async () => {
  let connections = 0;
  const closing = createServer((socket) => {
    connections += 1;
    socket.destroy();
  }).listen(0, '127.0.0.1');
  await once(closing, 'listening');
  onTestFinished(() => void closing.close());
  const { port } = closing.address() as AddressInfo;
  const { filter, events } = opened({ url: `redis://127.0.0.1:${port}` });

  const beganMs = performance.now();
  await until(async () => {
    await Promise.all(idsOf(10).map((id) => filter.seen('web', [id])));
    return connections === 2;
  });

  expect(performance.now() - beganMs).toBeGreaterThan(900);
  await filter.seen('web', ['a']);
  expect(events).toMatchObject([{ type: 'redis-away', retryInMs: 1_000 }]);
});

test('a closed filter has seen nothing and holds no connection', async () => {
  const { filter } = opened({ clientName: 'closing' });
  await filter.add('web', ['a']);
  const connected = async () => (await shared.clientList()).some(({ name }) => name === 'closing');
  expect(await connected()).toBe(true);

  await filter.close();
  await filter.close();

  expect(await filter.seen('web', ['a'])).toEqual(new Set());
  await until(async () => !(await connected()));
});

async function frozen(pid: number | undefined): Promise<void> {
  if (pid === undefined) throw new Error('It does not run.');
  // A frozen process would not end with the test.
  onTestFinished(() => thaw(pid));
  await freeze(pid);
}

function thaw(pid: number | undefined): void {
  if (pid !== undefined) process.kill(pid, 'SIGCONT');
}
