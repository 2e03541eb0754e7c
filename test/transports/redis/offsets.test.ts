import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { redisStream } from '../../../src/transports.ts';
import { redisAt } from '../../support/fixtures/own-redis.ts';
import { serverUrl as url } from './redis-subject.ts';

/** A stream with a group, read by `redis-cli`, as it were. */
async function stage() {
  const client = await redisAt(url);
  const transport = redisStream({ url });
  onTestFinished(() => transport.close());
  const { offsets } = transport;
  if (offsets === undefined) throw new Error('It declares no offsets.');
  const address = `orders-${randomUUID()}`;
  const add = (): Promise<string> => client.xAdd(address, '*', { n: '1' });
  const read = () => client.xReadGroup('billing', 'one', { key: address, id: '>' }, { COUNT: 1 });
  const at = async (): Promise<bigint> => BigInt((await offsets.committed('billing', address)).get(0) ?? -1);
  const end = async (): Promise<bigint> => BigInt((await offsets.ends(address)).get(0) ?? -1);
  return { add, address, at, client, end, offsets, read };
}

test('a group is at its oldest entry that is not acknowledged, whatever it has acknowledged after it', {
  tags: ['confirmed-was-processed'],
}, async () => {
  const { add, address, at, client, end, read } = await stage();
  expect([await at(), await end()]).toEqual([-1n, -1n]);
  const [first, second] = [await add(), await add()];
  await client.xGroupCreate(address, 'billing', '0');
  expect(await at()).toBeLessThan(await end());

  await read();
  await read();
  await client.xAck(address, 'billing', second);
  const open = await at();
  expect(open).toBeLessThan(await end());

  await client.xAck(address, 'billing', first);
  expect(await at()).toBe(await end());
  await add();
  expect(await at()).toBeLessThan(await end());
  expect(await at()).toBeGreaterThan(open);
});

test('ids within one millisecond, and beyond what a double holds, are in order', async () => {
  const { address, at, client, end, read } = await stage();
  await client.xAdd(address, '9007199254740993-9', { n: '1' });
  await client.xAdd(address, '9007199254740993-10', { n: '2' });
  await client.xGroupCreate(address, 'billing', '0');
  await read();
  await client.xAck(address, 'billing', '9007199254740993-9');

  expect((await end()) - (await at())).toBe(1n);
});

test('only the groups of a stream have a lag there: what is not acknowledged', async () => {
  const { add, address, client, offsets, read } = await stage();
  await add();
  await add();
  await client.xGroupCreate(address, 'billing', '0');
  await read();

  expect(await offsets.lags(['billing', 'audit'], [address, `none-${address}`])).toEqual([
    { group: 'billing', address, messages: 2 },
  ]);
});
