import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { redisStream } from '../../../src/transports.ts';
import { redisAt } from '../../support/fixtures/own-redis.ts';
import { until } from '../../support/fixtures/until.ts';
import { joins, numbersOf } from './member.ts';
import { kindOf, messagesOf } from './publishing.ts';
import { serverUrl as url } from './redis-subject.ts';

function streamOf(options: { readonly claimAfter?: number } = {}) {
  const transport = redisStream({ url, ...options });
  onTestFinished(() => transport.close());
  return { transport, address: `stream-${randomUUID()}` };
}

const inOrder = (count: number): readonly number[] => Array.from({ length: count }, (_, n) => n);

test('entries of other programs are received as a JSON object of their fields', async () => {
  const { address, transport } = streamOf();
  const client = await redisAt(url);
  const member = await joins(transport.source(), address);
  const id = await client.xAdd(address, '*', { userId: '7', voucherId: '9' });

  await member.has(1);
  const [message] = member.received;
  expect(message).toMatchObject({ offset: id, key: null, headers: {} });
  expect(JSON.parse(Buffer.from(message?.body ?? []).toString())).toEqual({ userId: '7', voucherId: '9' });
});

test('entries left open by other consumers of the group are claimed after their idle time', async () => {
  const { address, transport } = streamOf({ claimAfter: 1_000 });
  const client = await redisAt(url);
  await kindOf(transport, address, messagesOf(['k'], 8));
  await client.xGroupCreate(address, 'billing', '0');
  await client.xReadGroup('billing', 'a-program-of-others', { key: address, id: '>' }, { COUNT: 5 });

  const member = await joins(transport.source(), address);
  await member.has(3);
  await until(() => member.received.length === 8);
  expect(numbersOf(member.received)).toEqual([5, 6, 7, 0, 1, 2, 3, 4]);
  await until(async () => (await client.xPending(address, 'billing')).pending === 0);
});

test('a read by another program in between loses no message and keeps the order', {
  tags: ['one-reader-of-a-redis-stream'],
}, async () => {
  const { address, transport } = streamOf();
  const client = await redisAt(url);
  let stolen = 0;
  // As members do that were frozen while they asked, and have lost the lease: one that reads alone, and one that shares.
  const late = ['temporal-outbox', `temporal-outbox/${randomUUID()}`];
  const member = await joins(transport.source(), address, {
    async take(batch) {
      const name = late.shift();
      if (name !== undefined) {
        const read = ['XREADGROUP', 'GROUP', 'billing', name, 'COUNT', '5', 'STREAMS', address, '>'];
        const answer = await client.sendCommand<Readonly<Record<string, readonly unknown[]>>>(read);
        stolen += Object.values(answer)[0]?.length ?? 0;
      }
      for (const message of batch.messages) batch.acknowledge(message);
    },
  });
  await kindOf(transport, address, messagesOf(['k'], 40));

  // The last one arrives even if others are lost.
  await until(() => numbersOf(member.received).includes(39));
  expect(stolen).toBe(10);
  expect(numbersOf(member.received)).toEqual(inOrder(40));
});

test('entries deleted before the group acknowledged them are reported as lost, and acknowledged', async () => {
  const { address, transport } = streamOf();
  const client = await redisAt(url);
  await kindOf(transport, address, messagesOf(['k'], 20));
  const first = await joins(transport.source(), address, { take: () => undefined });
  await until(() => first.received.length > 0);
  await first.stop();
  const ids = first.received.slice(0, 10).map(({ offset }) => offset);
  await client.xDel(address, ids.slice(0, 4));

  // As many at once as one look finds deleted.
  const second = await joins(transport.source(), address, { batchSize: 4 });
  await second.has(16);
  expect(second.notices).toMatchObject([
    { type: 'messages-lost', address, partition: 0, from: ids[0], to: ids[4], messages: 4 },
  ]);
  await until(async () => (await client.xPending(address, 'billing')).pending === 0);
  expect(await second.lag()).toEqual([{ address, partition: 0, messages: 0 }]);
});

test('entries trimmed before they were delivered to a group are reported as lost, from Redis 7 on', async () => {
  const { address, transport } = streamOf();
  const client = await redisAt(url);
  const major = Number(/redis_version:(\d+)/.exec(await client.info('server'))?.[1]);
  await kindOf(transport, address, messagesOf(['k'], 10));
  const first = await joins(transport.source(), address);
  await first.has(10);
  await first.stop();
  await kindOf(transport, address, messagesOf(['k'], 30));
  await client.xTrim(address, 'MAXLEN', 20);

  const second = await joins(transport.source(), address);
  await second.has(20);
  const lost = { type: 'messages-lost', messages: 10, from: first.received.at(-1)?.offset };
  expect(second.notices).toMatchObject(major >= 7 ? [lost] : []);
});
