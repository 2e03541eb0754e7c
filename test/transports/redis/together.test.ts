import { expect, onTestFinished, test } from 'vitest';
import { type IncomingBatch, redisStream } from '../../../src/transports.ts';
import { ownRedis, redisAt } from '../../support/fixtures/own-redis.ts';
import { until } from '../../support/fixtures/until.ts';
import { joins, numbersOf, type TestMember } from './member.ts';
import { kindOf, messagesOf } from './publishing.ts';
import { proxied, serverUrl } from './redis-subject.ts';
import { calm, claimAfterMs, group, range, sourceAt, stage } from './sharing.ts';

/** Keeps a batch until the test lets it go. */
function keeping() {
  let go = (): void => undefined;
  const free = new Promise<void>((resolve) => {
    go = resolve;
  });
  const take = async (batch: IncomingBatch): Promise<void> => {
    await free;
    for (const message of batch.messages) batch.acknowledge(message);
  };
  return { go: () => go(), take };
}

const numbersOfAll = (members: readonly TestMember[]): number[] =>
  members.flatMap(({ received }) => numbersOf(received)).toSorted((a, b) => a - b);

test('without order three members have messages of one stream in hand at once, each message with one of them', {
  tags: ['redis-stream-shared-without-order'],
}, async () => {
  const { address, open, send } = await stage();
  const { go, take } = keeping();
  await send(30);
  const members = await Promise.all(range(3).map(() => joins(sourceAt(serverUrl), address, { take })));
  onTestFinished(go);
  await until(() => members.every(({ received }) => received.length === 10));
  expect(numbersOfAll(members)).toEqual(range(30));
  expect(members.every((member) => member.isReading())).toBe(true);
  expect(await members[0]?.lag()).toEqual([{ address, partition: 0, messages: 30 }]);

  go();
  await until(async () => (await open()) === 0);
  expect(numbersOfAll(members)).toEqual(range(30));
});

test('a member that has nothing to do waits, also for what is after an entry that another has read', async () => {
  const { url } = await ownRedis();
  const transport = redisStream({ url, order: false });
  onTestFinished(() => transport.close());
  const client = await redisAt(url);
  const { go, take } = keeping();
  const members = [
    await joins(transport.source(), 'orders', { take }),
    await joins(transport.source(), 'orders', { take }),
  ];
  onTestFinished(go);
  await kindOf(transport, 'orders', messagesOf(['k'], 1));
  await until(() => numbersOfAll(members).length === 1);
  const reads = async (): Promise<number> => {
    const found = /cmdstat_xread:calls=(\d+)/.exec(await client.info('commandstats'));
    return Number(found?.[1] ?? 0);
  };
  const before = await reads();
  await until(async () => {
    const [open] = await client.xPendingRange('orders', group, '-', '+', 1);
    return (open?.millisecondsSinceLastDelivery ?? 0) > 1_000;
  });

  // The idle one waits for 2 s at a time, and begins a wait anew after the entry.
  expect((await reads()) - before).toBeLessThan(5);
  await kindOf(transport, 'orders', messagesOf(['k'], 1));
  await until(() => numbersOfAll(members).length === 2);
  expect(members.map(({ received }) => received.length)).toEqual([1, 1]);
});

test('messages in hand stay with a member for longer than any lease and claim while it lives', {
  tags: ['redis-stream-shared-without-order'],
}, async () => {
  const { address, client, open, send } = await stage();
  const { go, take } = keeping();
  await send(10);
  const busy = await joins(sourceAt(serverUrl), address, { take });
  // The last one is called first: a member that stops waits for its batch.
  onTestFinished(go);
  await busy.has(10);
  const other = await joins(sourceAt(serverUrl), address);
  await until(async () => {
    const [oldest] = await client.xPendingRange(address, group, '-', '+', 1);
    return other.received.length > 0 || (oldest?.millisecondsSinceLastDelivery ?? 0) > 2 * claimAfterMs;
  });
  expect(other.received).toEqual([]);
  await send(1);
  await other.has(1);

  go();
  await until(async () => (await open()) === 0);
  expect([busy.received.length, other.received.length]).toEqual([10, 1]);
});

test('a member that is cut off loses what it has in hand to the others, and learns of it', {
  tags: ['redis-stream-shared-without-order'],
}, async () => {
  const { proxy, url } = await proxied(serverUrl);
  onTestFinished(() => proxy.close());
  const { address, consumers, open, send } = await stage();
  await send(20);
  let lost = 0;
  const cut = await joins(sourceAt(url), address, {
    async take(batch) {
      await new Promise<void>((resolve) => {
        batch.lost.addEventListener('abort', () => resolve());
      });
      lost += 1;
    },
  });
  await until(() => cut.received.length === 10);
  const others = [await joins(sourceAt(serverUrl), address), await joins(sourceAt(serverUrl), address)];
  await until(() => numbersOfAll(others).length === 10);

  proxy.inject({ kind: 'blackhole' });
  await until(() => numbersOfAll(others).length === 20);

  expect(numbersOfAll(others)).toEqual(range(20));
  await until(() => lost === 1);
  await until(async () => (await open()) === 0 && (await consumers()).length === 2);
  proxy.heal();
  // It reads again, as the others do.
  await until(() => cut.isReading());
});

test('a member that stops leaves its open messages to the others, and no consumer behind', {
  tags: ['redis-stream-shared-without-order'],
}, async () => {
  const { address, client, consumers, open, send } = await stage();
  await send(10);
  const first = await joins(sourceAt(serverUrl), address, {
    take: (batch) => {
      for (const message of batch.messages) batch.reject(message, 60_000);
    },
  });
  await first.has(10);
  const second = await joins(sourceAt(serverUrl), address);
  await first.stop();

  await second.has(10);
  await until(async () => (await open()) === 0);
  expect(await consumers()).toHaveLength(1);
  await second.stop();
  expect(await consumers()).toEqual([]);
  expect(await client.keys(`${address}*`)).toEqual([address]);
});

test('a group changes from one reader to several and back while it runs, and neither reads beside the other', {
  tags: ['redis-stream-shared-without-order'],
}, async () => {
  const { address, open, send } = await stage();
  const shared = () => joins(sourceAt(serverUrl, false, calm), address);
  const alone = await joins(sourceAt(serverUrl, true, calm), address);
  const together = [await shared(), await shared()];
  await send(10);
  await until(() => numbersOfAll([alone, ...together]).length === 10);
  expect(together.map((member) => member.isReading())).toEqual([false, false]);

  await alone.stop();
  await until(() => together.every((member) => member.isReading()));
  const next = await joins(sourceAt(serverUrl, true, calm), address);
  await send(10);
  await until(() => numbersOfAll(together).length === 10);
  expect(next.isReading()).toBe(false);

  await together[0]?.stop();
  await send(10);
  await until(() => numbersOfAll(together).length === 20);
  expect(next.isReading()).toBe(false);
  await together[1]?.stop();
  await until(() => next.isReading());
  await send(10);
  await next.has(10);
  await until(async () => (await open()) === 0);
});

test('a member that reads alone begins with what those that shared the stream have left open, in order', async () => {
  const { address, consumers, open, send } = await stage();
  await send(20);
  const reject = (batch: IncomingBatch): void => {
    for (const message of batch.messages) batch.reject(message, 60_000);
  };
  const rejecting = [
    await joins(sourceAt(serverUrl), address, { take: reject }),
    await joins(sourceAt(serverUrl), address, { take: reject }),
  ];
  await until(() => numbersOfAll(rejecting).length === 20);
  for (const member of rejecting) await member.stop();
  expect(await open()).toBe(20);
  const left = rejecting.flatMap(({ received }) => received.map(({ offset }) => offset));
  await send(10);

  // With the usual time: nothing is claimed for being idle.
  const transport = redisStream({ url: serverUrl });
  onTestFinished(() => transport.close());
  const alone = await joins(transport.source(), address);
  await until(() => alone.received.length > 0);
  expect(left).toContain(alone.received[0]?.offset);
  await alone.has(30);
  expect(numbersOf(alone.received)).toEqual([...range(20), ...range(10)]);
  await until(async () => (await open()) === 0);
  expect(await consumers()).toEqual(['temporal-outbox']);
});

test('entries of consumers of other programs are claimed after claimAfter, and those deleted before are reported', async () => {
  const { address, client, open, send } = await stage();
  await send(20);
  await client.xGroupCreate(address, group, '0');
  const read = (await client.xReadGroup(
    group,
    'foreign',
    { key: address, id: '>' },
    { COUNT: 5 },
  )) as readonly {
    readonly messages: readonly { readonly id: string }[];
  }[];
  const ids = (read[0]?.messages ?? []).map(({ id }) => id);
  await client.xDel(address, ids.slice(0, 2));

  const members = [await joins(sourceAt(serverUrl), address), await joins(sourceAt(serverUrl), address)];
  await until(async () => (await open()) === 0);

  expect(numbersOfAll(members)).toEqual(range(20).slice(2));
  expect(members.flatMap(({ notices }) => notices)).toMatchObject([
    { type: 'messages-lost', address, from: ids[0], messages: 2, error: { code: 'OUTBOX_MESSAGES_EXPIRED' } },
  ]);
});
