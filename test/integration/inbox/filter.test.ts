// @module-tag apart
import { randomUUID } from 'node:crypto';
import { expect, inject, onTestFinished, test } from 'vitest';
import { redisFilter } from '../../../src/brokers/redis/filter/redis-filter.ts';
import type { RedisFilterEvent } from '../../../src/brokers/redis/filter/redis-filter-options.ts';
import { gate } from '../../support/fixtures/gate.ts';
import { InboxStage, range } from '../../support/fixtures/inbox-stage.ts';
import { MemoryInbox } from '../../support/fixtures/memory-inbox.ts';
import { ownRedis } from '../../support/fixtures/own-redis.ts';
import { until } from '../../support/fixtures/until.ts';

/** A topic of Kafka with twenty messages, and consumers of one group whose filter uses this Redis. */
async function staged(url: string, requestTimeout: '2s' | '10s') {
  const stage = await InboxStage.create(2);
  onTestFinished(() => stage.end());
  const events: RedisFilterEvent[] = [];
  const prefix = `test:${randomUUID()}`;
  const consume = async (name: string) => {
    const report = (event: RedisFilterEvent) => events.push(event);
    return stage.consume(name, { filter: redisFilter({ url, prefix, requestTimeout, report }) });
  };
  await stage.publish(range(1, 20).map((n) => ({ n, partition: n % 2 })));
  return { stage, events, consume };
}

const sorted = (effects: readonly number[]) => effects.toSorted((a, b) => a - b);

test('a redelivered message in the filter is dropped without asking the database', async () => {
  const { stage, consume } = await staged(inject('redisUrl'), '10s');
  const first = await consume('first');
  await until(() => first.counts().handled === 20);
  await first.stop();
  await stage.rewind();
  // Only the filter has them now: a consumer that asked the database would handle everything again.
  await stage.prisma.$executeRaw`delete from outbox.processed`;

  const second = await consume('second');
  await until(() => second.counts().duplicates === 20);

  expect(second.counts()).toMatchObject({ handled: 0, duplicates: 20 });
  expect(sorted(await stage.effects())).toEqual(range(1, 20));
});

test('while Redis is killed, messages and duplicates are handled as without a filter', {
  tags: ['fast-filter-loses-nothing'],
}, async () => {
  const redis = await ownRedis();
  const { stage, events, consume } = await staged(redis.url, '2s');
  const first = await consume('first');
  await until(() => first.counts().handled === 20);

  await redis.node?.stop('SIGKILL');
  await stage.publish(range(21, 40).map((n) => ({ n, partition: n % 2 })));
  await until(() => first.counts().handled === 40);
  await first.stop();
  await stage.rewind();
  const second = await consume('second');
  await until(() => second.counts().duplicates === 40);

  expect(sorted(await stage.effects())).toEqual(range(1, 40));
  expect(new Set(events.map(({ type }) => type))).toEqual(new Set(['redis-away']));
});

test.for([
  ['one by one', {}],
  ['in batches', { batch: { size: 5 } }],
] as const)(
  'ids are added to the filter only after their effects are committed, %s',
  async ([, settings]) => {
    const inbox = await MemoryInbox.create();
    onTestFinished(() => inbox.end());
    let told = 0;
    const tooEarly: unknown[] = [];
    const filter = {
      seen: async () => new Set<string>(),
      add: async (_group: string, ids: readonly string[]) => {
        told += ids.length;
        const committed = (await inbox.effects()).length;
        if (committed < told) tooEarly.push({ told, committed });
      },
      close: async () => undefined,
    };
    inbox.feed(...range(1, 20).map((n) => ({ n })));

    const running = await inbox.consume({ filter, ...settings });
    await until(() => running.counts().handled === 20);
    await running.stop();

    expect(tooEarly).toEqual([]);
    expect(told).toBe(20);
  },
);

test.for([
  ['one by one', {}],
  ['in batches', { batch: { size: 5 } }],
] as const)(
  'a filter is closed after the messages in hand at a stop are added to it, %s',
  { tags: ['fast-filter-loses-nothing'] },
  async ([, settings]) => {
    const inbox = await MemoryInbox.create();
    onTestFinished(() => inbox.end());
    const calls: string[] = [];
    const filter = {
      seen: async () => new Set<string>(),
      add: async (_group: string, ids: readonly string[]) => void calls.push(...ids),
      close: async () => void calls.push('closed'),
    };
    const { opened, open } = gate();
    let begun = false;
    const before = () => {
      begun = true;
      return opened;
    };
    inbox.feed({ n: 1 });

    const running = await inbox.consume({ filter, before, ...settings });
    await until(() => begun);
    const stopped = running.stop();
    open();
    await stopped;

    expect(calls).toEqual(['id-1', 'closed']);
  },
);
