import { expect, test } from 'vitest';
import { z } from 'zod';
import type { Source } from '../../../src/brokers/source.ts';
import { type Topic, type TopicOptions, topic } from '../../../src/core/topic.ts';
import { type ConsumerSettings, resolveConsumerRules } from '../../../src/inbox/consumer-options.ts';
import { routeOf } from '../../../src/inbox/route.ts';
import { topicDelaysOf } from '../../../src/inbox/route-delays.ts';
import { addressesOf, sourceRoutesOf } from '../../../src/inbox/source-routes.ts';
import type { Transaction } from '../../../src/store/database/transaction.ts';
import { ScriptedClient } from '../../support/fixtures/scripted-client.ts';

const source = (name: string): Source => ({
  name,
  redeliveryPeriodMs: async () => 0,
  subscribe: () => Promise.reject(new Error('nobody subscribes')),
});
const made = (name: string, options: TopicOptions = {}): Topic => topic(name, z.unknown(), options);
const route = (of: Topic, retryMs?: readonly number[]) =>
  routeOf<Transaction, unknown, unknown>(of, async () => undefined, { retryMs });

/** The routes of these topics, each at its source. */
function routesOf(settings: Omit<ConsumerSettings, 'group'>, topics: ReadonlyMap<Topic, Source>) {
  const asked: unknown[] = [];
  const closed: string[] = [];
  const found = sourceRoutesOf(
    {
      client: new ScriptedClient().client,
      settings: { group: 'shop', ...settings },
      rules: resolveConsumerRules({ group: 'shop', ...settings }),
      topics: [...topics.keys()],
      routes: [...topics.keys()].map((one) => route(one)),
      middlewares: [],
      sourceOf: (one) => topics.get(one) ?? source('none'),
      receiptSenderOf: (one) => {
        asked.push(['receipts', one.name]);
        return { send: async () => undefined, close: async () => void closed.push('receipts') };
      },
      deadLetterSenderOf: (some) => {
        asked.push(['dead letters', some.map(({ name }) => name)]);
        return { send: async () => [], close: async () => void closed.push('dead letters') };
      },
      processInfo: { host: 'h', pid: 1, version: '1' },
      hostParkedKeys: () => {
        throw new Error('nobody hosts');
      },
    },
    () => undefined,
  );
  return { asked, closed, found };
}

test('topics are grouped by their source, and a second source of the same name is numbered', async () => {
  const [kafka, other, memory] = [source('kafka'), source('kafka'), source('memory')];
  const confirm = { group: 'shop', receiptTimeout: ['1m'] } as const;
  const [orders, returns, stock, events] = [
    made('orders'),
    made('returns', { confirm: { ...confirm, group: 'other' } }),
    made('stock', { confirm }),
    made('events'),
  ];
  const { asked, found } = routesOf(
    {},
    new Map([
      [orders, kafka],
      [returns, other],
      [stock, kafka],
      [events, memory],
    ]),
  );

  expect(found.map(({ name, routes }) => [name, routes.map((one) => one.topic.name)])).toEqual([
    ['kafka', ['orders', 'stock']],
    ['kafka 2', ['returns']],
    ['memory', ['events']],
  ]);
  expect(asked, 'only what this group confirms').toEqual([['receipts', 'stock']]);
  expect(found.map(({ deadLetters, receipts }) => [deadLetters, receipts !== undefined])).toEqual([
    [undefined, true],
    [undefined, false],
    [undefined, false],
  ]);
});

test('dead letters go to the broker of their topics', async () => {
  const { asked, closed, found } = routesOf(
    { deadLetters: true },
    new Map([[made('orders'), source('kafka')]]),
  );
  await found[0]?.deadLetters?.stop();
  expect(asked).toEqual([['dead letters', ['orders']]]);
  expect(closed).toEqual(['dead letters']);
});

test('an address of several topics is one', () => {
  expect(
    addressesOf(
      [made('a', { address: 'x' }), made('b', { address: 'x' }), made('c')].map((one) => route(one)),
    ),
  ).toEqual(['x', 'c']);
});

test('each topic has its own delays, otherwise those of the consumer', () => {
  const delays = topicDelaysOf(
    [route(made('orders'), [1, 2]), route(made('returns')), route(made('stock'), [])],
    [7],
  );
  expect(JSON.parse(delays.byTopic)).toEqual({ orders: [1, 2], returns: [7], stock: [] });
  expect(delays.elsewhereMs).toBe(30_000);
});
