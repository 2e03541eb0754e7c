import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { type IncomingMessage, redisList } from '../../../src/transports.ts';
import { redisAt } from '../../support/fixtures/own-redis.ts';
import { until } from '../../support/fixtures/until.ts';
import { joins, numbersOf } from './member.ts';
import { kindOf, messagesOf } from './publishing.ts';
import { proxied, serverUrl as url } from './redis-subject.ts';

function listOf() {
  const transport = redisList({ url });
  onTestFinished(() => transport.close());
  return { transport, address: `list-${randomUUID()}` };
}

test('a second group is refused while another reads the list, and receives from it afterwards', {
  tags: ['one-reader-of-a-redis-stream'],
}, async () => {
  const { address, transport } = listOf();
  const first = await joins(transport.source(), address, { group: 'billing' });

  await expect(
    joins(transport.source(), address, { group: 'shipping', joinWithinMs: 2_000 }),
  ).rejects.toMatchObject({
    code: 'OUTBOX_GROUP_REFUSED',
    details: { group: 'shipping', reader: 'billing' },
  });

  await first.stop();
  await kindOf(transport, address, messagesOf(['k'], 3));
  const second = await joins(transport.source(), address, { group: 'shipping' });
  await second.has(3);
});

test('values of other programs are received unchanged as bodies, each with its own offset', async () => {
  const { address, transport } = listOf();
  const client = await redisAt(url);
  const bytes = Buffer.from([0xff, 0x00, 0x80]);
  await client.rPush(address, [bytes, bytes, '{"id":"not ours"}']);

  const member = await joins(transport.source(), address);
  await member.has(3);
  expect(member.received.map(({ body, key }) => [Buffer.from(body ?? []).toString('latin1'), key])).toEqual([
    ['\u00ff\u0000\u0080', null],
    ['\u00ff\u0000\u0080', null],
    ['{"id":"not ours"}', null],
  ]);
  const first = BigInt(member.received[0]?.offset ?? 0);
  expect(member.received.map(({ offset }) => BigInt(offset) - first)).toEqual([0n, 1n, 2n]);
});

test('messages being handled are in a second list until they are acknowledged, and are then deleted', {
  tags: ['redis-keeps-what-it-acknowledged'],
}, async () => {
  const { address, transport } = listOf();
  const client = await redisAt(url);
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const member = await joins(transport.source(), address, {
    async take(batch) {
      await opened;
      for (const message of batch.messages) batch.acknowledge(message);
    },
  });
  await kindOf(transport, address, messagesOf(['k'], 10));
  await until(() => member.received.length > 0);
  await until(async () => (await member.lag())[0]?.messages === 10);
  expect(await client.lLen(`${address}:processing`)).toBeGreaterThan(0);

  open();
  await until(() => member.received.length === 10);
  expect(numbersOf(member.received)).toEqual(Array.from({ length: 10 }, (_, n) => n));
  await until(async () => (await client.exists([address, `${address}:processing`])) === 0);
  expect((await member.lag())[0]?.messages).toBe(0);
});

test('an acknowledgement that the network delivers late removes nothing that is still to be handled', {
  tags: ['one-reader-of-a-redis-stream'],
}, async () => {
  const { address, transport } = listOf();
  const client = await redisAt(url);
  const { proxy, url: slow } = await proxied();
  onTestFinished(() => proxy.close());
  const reader = redisList({ url: slow, requestTimeout: 300 });
  onTestFinished(() => reader.close());
  await kindOf(transport, address, messagesOf(['k'], 30));
  const done: IncomingMessage[] = [];
  let batches = 0;
  const member = await joins(reader.source(), address, {
    async take(batch) {
      batches += 1;
      // The reader gives the acknowledgement of these five up before it arrives, and they come again.
      if (batches === 2) proxy.inject({ kind: 'delay', ms: 3_000 });
      else if (batches === 3) await until(async () => (await client.lLen(`${address}:processing`)) < 10);
      const open = batches === 2 || batches === 3 ? 5 : 0;
      for (const [n, message] of batch.messages.entries())
        if (n < batch.messages.length - open) {
          done.push(message);
          batch.acknowledge(message);
        } else batch.reject(message, 10);
    },
  });
  await until(() => member.errors.length > 0);
  proxy.heal();

  await until(async () => (await client.lLen(address)) + (await client.lLen(`${address}:processing`)) === 0);
  expect(proxy.fired('delay')).toBeGreaterThan(0);
  expect([...new Set(numbersOf(done))]).toEqual(Array.from({ length: 30 }, (_, n) => n));
});

test('a reader that has lost the lease acknowledges nothing of a list, which may now hold messages of another reader', {
  tags: ['one-reader-of-a-redis-stream'],
}, async () => {
  const { address, transport } = listOf();
  const client = await redisAt(url);
  let taken = false;
  const member = await joins(transport.source(), address, {
    async take(batch) {
      if (!taken)
        await client.set(`${address}:reader`, 'billing/another', { expiration: { type: 'PX', value: 700 } });
      taken = true;
      for (const message of batch.messages) batch.acknowledge(message);
    },
  });
  await kindOf(transport, address, messagesOf(['k'], 5));

  await until(async () => (await member.lag())[0]?.messages === 0);
  const numbers = numbersOf(member.received);
  expect(numbers).toEqual([0, 1, 2, 3, 4, 0, 1, 2, 3, 4]);
});
