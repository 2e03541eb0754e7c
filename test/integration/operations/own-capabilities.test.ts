import { setTimeout as delay } from 'node:timers/promises';
import { expect, inject, onTestFinished, test, vi } from 'vitest';
import { examineAll } from '../../../src/app/doctor/doctor.ts';
import { requireReceiptTopics } from '../../../src/app/relay/confirmation.ts';
import { migrateTopics } from '../../../src/app/relay/migrate-topics.ts';
import { noteCheck } from '../../../src/app/relay/relay-health.ts';
import { type CheckedServer, keepPresence } from '../../../src/app/relay/relay-presence.ts';
import type { BrokerTopics, Examined } from '../../../src/brokers/capabilities.ts';
import type { Transport } from '../../../src/brokers/transport.ts';
import type { RelayConfig } from '../../../src/config/config.ts';
import { HealthRecord } from '../../../src/core/health.ts';
import { receiptsAddress } from '../../../src/core/receipt.ts';
import { memorySource, memoryTransport } from '../../../src/testing.ts';
import { rabbitmq, redisList, rocketmq } from '../../../src/transports.ts';
import { confirmingTopic } from '../../support/fixtures/confirm-config.ts';
import { ownDatabase } from '../../support/fixtures/database.ts';
import { numbered } from '../../support/fixtures/stage.ts';
import { until } from '../../support/fixtures/until.ts';

/** A broker of a user that declares some of what it can do. */
function ownBroker(declared: Partial<Transport>): Transport {
  return { ...memoryTransport(), name: 'own', endpoint: 'own:1', ...declared };
}

/** Its addresses. */
function shelf(): BrokerTopics & { readonly there: Map<string, number | undefined> } {
  const there = new Map<string, number | undefined>();
  return {
    there,
    missing: async (addresses) => addresses.filter((address) => !there.has(address)),
    async create(address, partitions) {
      if (there.has(address)) return false;
      there.set(address, partitions);
      return true;
    },
  };
}

const offsets: NonNullable<Transport['offsets']> = {
  committed: async () => new Map(),
  ends: async () => new Map(),
  lags: async (groups, addresses) =>
    groups.flatMap((group) => addresses.map((address) => ({ group, address, messages: 7 }))),
};

async function configOf(transport: Transport): Promise<RelayConfig> {
  const made = await ownDatabase();
  return {
    database: { url: made.url },
    temporal: { address: inject('temporalAddress') },
    topics: [
      numbered('orders', { address: 'shop' }),
      confirmingTopic('bills', { group: 'billing', receiptTimeout: '1h' }),
    ],
    transports: { own: transport },
  };
}

test('migrate creates addresses and the topic of receipts at every broker that declares its topics', async () => {
  const topics = shelf();
  const config = await configOf(ownBroker({ source: () => memorySource(), topics, offsets }));
  await expect(requireReceiptTopics(config)).rejects.toMatchObject({
    code: 'OUTBOX_RECEIPTS_MISSING',
    details: { transport: 'own', endpoint: 'own:1', address: receiptsAddress },
  });

  const first = await migrateTopics(config, { create: true });
  const second = await migrateTopics(config, { create: true });

  expect(first).toEqual({
    topics: ['orders', 'bills'],
    created: ['shop', 'bills'],
    receipts: { wanted: 1, made: 1 },
  });
  expect(second).toEqual({ topics: ['orders', 'bills'], created: [], receipts: { wanted: 1, made: 0 } });
  expect(topics.there.get(receiptsAddress)).toBe(3);
  await requireReceiptTopics(config);
});

test.each([
  ['source', { topics: shelf(), offsets }],
  ['offsets', { source: () => memorySource(), topics: shelf() }],
] as const)('receipts over a broker without %s are refused, naming what it lacks', async (lack, declared) => {
  const config = await configOf(ownBroker(declared));

  await expect(requireReceiptTopics(config)).rejects.toMatchObject({
    code: 'OUTBOX_SOURCE_UNKNOWN',
    message: expect.stringContaining(`it lacks ${lack}.`),
    details: { topic: 'bills', transport: 'own', lacks: [lack] },
  });
});

test.each([
  ['RabbitMQ', () => rabbitmq({ url: 'amqp://localhost' }), 'what consumers of a queue hold'],
  [
    'a list of Redis',
    () => redisList({ url: 'redis://localhost' }),
    'a list keeps nothing of what was acknowledged',
  ],
  [
    'RocketMQ without name servers',
    () => rocketmq({ servers: 'localhost:8081' }),
    'rocketmq() needs `nameServers`',
  ],
])('receipts over %s are refused with the reason', async (_, make, reason) => {
  const config = await configOf(make());

  await expect(requireReceiptTopics(config)).rejects.toMatchObject({
    code: 'OUTBOX_SOURCE_UNKNOWN',
    message: expect.stringMatching(new RegExp(`it lacks offsets: .*${reason.replace('()', '\\(\\)')}`)),
    details: { lacks: ['offsets'] },
  });
});

test('doctor lets a broker examine its own addresses, and probes those of other brokers', async () => {
  const asked: Examined[] = [];
  const found = { check: 'shelf', state: 'warning', message: 'It bends.', next: 'Empty it.' } as const;
  const kept = { check: 'dust', state: 'ok', message: 'None.', next: null } as const;
  const examine = async (request: Examined) => {
    asked.push(request);
    return [found];
  };
  const config = await configOf(ownBroker({ examine, durability: async () => [kept] }));
  const checksOf = async (transport: Transport) =>
    (await examineAll({ ...config, transports: { own: transport } })).map(({ check }) => check);

  expect(await checksOf(ownBroker({ examine }))).toContain('shelf');
  expect(asked).toEqual([
    {
      name: 'own',
      addresses: [
        { address: 'shop', topic: 'orders', payloadBytes: 921_600, pinned: null },
        { address: 'bills', topic: 'bills', payloadBytes: 921_600, pinned: null },
      ],
      receipts: receiptsAddress,
    },
  ]);
  expect(await checksOf(ownBroker({ durability: async () => [kept] }))).toEqual(
    expect.arrayContaining(['own', 'dust']),
  );
  const gone = ownBroker({ probe: () => Promise.reject(new Error('gone')) });
  expect(await checksOf(gone)).toEqual(expect.arrayContaining(['own shop', 'own bills']));
});

test('a relay records missing addresses, the lag of groups at the existing ones and its clock, all with its first row', async () => {
  // Only the clock: a relay whose host is 40 s ahead.
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 40_000 });
  onTestFinished(() => void vi.useRealTimers());
  const topics = shelf();
  await topics.create('shop');
  const slow: NonNullable<Transport['offsets']> = {
    ...offsets,
    async lags(...asked) {
      // Longer than the servers take to answer.
      await delay(200);
      return offsets.lags(...asked);
    },
  };
  const two = await configOf(ownBroker({ topics, offsets: slow }));
  // One address for two topics.
  const config = { ...two, topics: [...two.topics, numbered('gifts', { address: 'shop' })] };
  const made = await ownDatabase();
  const { database } = made;
  await database.query(
    `insert into outbox.consumer_group (consumer_group, seen_at) values ('billing', outbox.clock())`,
  );
  const temporal = { server: 'Temporal', address: 'a:1', ask: async () => null };
  const health = new HealthRecord();
  health.state = 'running';
  const asked = (checked: CheckedServer): void => noteCheck(health, checked);
  const presence = keepPresence({ database, config, temporal, certificates: [], asked });
  onTestFinished(() => presence.stop());

  const read = () =>
    database.query<{ offset: number }>('select servers, lags, clock_offset_ms as offset from outbox.relay');
  await until(async () => (await read()).length === 1);
  const [row] = await read();
  expect(Math.abs((row?.offset ?? 0) - 40_000)).toBeLessThan(5_000);
  expect(row).toMatchObject({
    servers: [
      { server: 'Temporal' },
      { server: 'own', error: null, lacks: 'It has no topic bills: create it' },
    ],
    lags: [
      { group: 'billing', topic: 'orders', messages: 7 },
      { group: 'billing', topic: 'gifts', messages: 7 },
    ],
  });
  expect(health.read().failing).toMatchObject([{ what: 'topics of own' }]);
  // It answers, so a stop has no reason to give up its last statements.
  expect(health.isAway(Infinity)).toBe(false);
});
