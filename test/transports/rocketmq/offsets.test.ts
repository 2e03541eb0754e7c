import { randomUUID } from 'node:crypto';
import { expect, inject, onTestFinished, test } from 'vitest';
import { OutboxError } from '../../../src/core/errors.ts';
import { rocketmq } from '../../../src/transports.ts';
import { answering, nameServerOf } from '../../support/fixtures/answering-rocketmq.ts';
import { until } from '../../support/fixtures/until.ts';
import { admin, newTopic, options } from './rocketmq-stage.ts';

const sum = (offsets: ReadonlyMap<number, string>): number =>
  [...offsets.values()].reduce((total, offset) => total + Number(offset), 0);

test('a name server that knows no broker tells nothing, and the next one is asked', async () => {
  const empty = await nameServerOf({});
  const alone = rocketmq({ ...options, nameServers: [empty] });
  const both = rocketmq({ ...options, nameServers: [empty, inject('rocketmq').names] });
  onTestFinished(async () => {
    await Promise.all([alone.close(), both.close()]);
  });
  const address = await newTopic('FIFO', 1);
  const unavailable = {
    code: 'OUTBOX_SERVER_UNAVAILABLE',
    message: expect.stringContaining(`${empty} knows no broker`),
  };

  await expect(alone.offsets?.ends(address)).rejects.toMatchObject(unavailable);
  await expect(alone.offsets?.committed('billing', address)).rejects.toMatchObject(unavailable);
  await expect(alone.groups?.create('billing', [address])).rejects.toMatchObject(unavailable);
  await until(
    async () =>
      both.offsets?.ends(address).then(
        () => true,
        () => false,
      ) ?? false,
  );
});

test('brokers that only some of the name servers know are all asked', {
  tags: ['confirmed-was-processed'],
}, async () => {
  const { broker, names } = inject('rocketmq');
  const address = await newTopic('FIFO', 1);
  await admin.put(address, 0, { body: Buffer.from('1'), properties: {} });
  // The real broker under another name, as a second one would be.
  const partial = await nameServerOf({ second: broker });
  const endsBy = async (...nameServers: readonly string[]): Promise<number | undefined> => {
    const transport = rocketmq({ ...options, nameServers });
    onTestFinished(() => transport.close());
    return (await transport.offsets?.ends(address))?.size;
  };
  // The name server learns of the broker after its start.
  await until(async () => (await endsBy(names)) === 1, 30_000);

  expect(await endsBy(partial)).toBe(1);
  expect(await endsBy(partial, names)).toBe(2);
  expect(await endsBy(names, partial)).toBe(2);
  expect(await endsBy('127.0.0.1:1', partial, names)).toBe(2);
});

test('a broker is asked at another of its addresses if name servers differ and one cannot be reached', async () => {
  const { broker, names } = inject('rocketmq');
  const address = await newTopic('FIFO', 1);
  await admin.put(address, 0, { body: Buffer.from('1'), properties: {} });
  const current = await nameServerOf({ moved: broker });
  const former = await nameServerOf({ moved: '127.0.0.1:1' });
  const endsBy = async (...nameServers: readonly string[]): Promise<number | undefined> => {
    const transport = rocketmq({ ...options, nameServers });
    onTestFinished(() => transport.close());
    return (await transport.offsets?.ends(address))?.size;
  };

  for (const nameServers of [
    [current, former],
    [former, current],
  ])
    expect(await endsBy(...nameServers)).toBe(1);
  expect(await endsBy(former, current, names)).toBe(2);
  await expect(endsBy(former)).rejects.toMatchObject({ code: 'OUTBOX_SERVER_UNAVAILABLE' });
});

test('a broker that refuses to tell offsets does not count as one without the topic', async () => {
  const failing = await answering(1, '', 'the store is closed');
  const transport = rocketmq({ ...options, nameServers: await nameServerOf({ failing }) });
  onTestFinished(() => transport.close());

  await expect(transport.offsets?.ends('orders')).rejects.toMatchObject({
    code: 'OUTBOX_SERVER_UNAVAILABLE',
    message: expect.stringContaining('failing: the store is closed'),
  });
});

test('a group without order is an error: what its consumers hold would count as passed', async () => {
  const transport = rocketmq({ ...options, nameServers: inject('rocketmq').names });
  onTestFinished(() => transport.close());
  const address = await newTopic('NORMAL', 1);
  await admin.createGroup(`${address}-group`, false);
  // The name server learns of the broker after its start.
  const { offsets } = transport;
  if (offsets === undefined) throw new Error('It declares no offsets.');
  const known = (error: unknown): boolean =>
    !(error instanceof OutboxError && error.code === 'OUTBOX_SERVER_UNAVAILABLE');
  await until(async () => offsets.committed(`${address}-group`, address).then(() => true, known), 30_000);

  await expect(transport.offsets?.committed(`${address}-group`, address)).rejects.toMatchObject({
    code: 'OUTBOX_GROUP_UNFIT',
    message: expect.stringContaining('keeps no order'),
  });
});

test('a group is at its first message that is not acknowledged, and ends are those of the queues with messages', {
  tags: ['confirmed-was-processed'],
}, async () => {
  const transport = rocketmq({ ...options, nameServers: inject('rocketmq').names });
  onTestFinished(() => transport.close());
  const { offsets } = transport;
  if (offsets === undefined) throw new Error('It declares no offsets.');
  const address = await newTopic('FIFO', 2);
  const group = `billing-${randomUUID()}`;
  await admin.createGroup(group, true);
  expect((await offsets.ends(address)).size).toBe(0);
  for (const n of [1, 2, 3]) await admin.put(address, 1, { body: Buffer.from(`${n}`), properties: {} });
  await until(async () => sum(await offsets.ends(address)) === 3);
  expect((await offsets.ends(address)).size).toBe(1);
  expect(sum(await offsets.committed(group, address))).toBe(0);
  expect(await offsets.lags([group], [address])).toEqual([]);

  const received: string[] = [];
  const member = await transport.source?.().subscribe({
    addresses: [address],
    group,
    concurrency: 1,
    fromBeginning: true,
    joinWithinMs: 30_000,
    batchSize: 1,
    // The second one stays open.
    handle: async (batch) => {
      for (const message of batch.messages) {
        received.push(message.offset);
        if (message.offset === '0') batch.acknowledge(message);
        else batch.reject(message, 60_000);
      }
    },
    assigned: () => undefined,
    disconnected: () => undefined,
  });
  onTestFinished(() => member?.stop());
  await until(() => received.includes('1'), 30_000);
  await until(async () => sum(await offsets.committed(group, address)) === 1);
  const [end] = await offsets.ends(address);
  expect((await offsets.committed(group, address)).get(end?.[0] ?? 0)).toBe('1');
  expect(await offsets.lags([group], [address])).toEqual([{ group, address, messages: 2 }]);
});
