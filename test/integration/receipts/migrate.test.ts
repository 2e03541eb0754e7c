// @module-tag apart
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { type LocalKafka, startKafka } from '../../../dev/servers/index.ts';
import { type RunningRelay, startRelay } from '../../../src/app/relay/start-relay.ts';
import { migrateCommand } from '../../../src/cli/migrate-command.ts';
import { createOutput } from '../../../src/cli/output.ts';
import type { RelayConfig } from '../../../src/config/config.ts';
import { receiptsAddress } from '../../../src/core/receipt.ts';
import type { RelayEvent } from '../../../src/relay/report.ts';
import { confirmConfig, confirmingTopic } from '../../support/fixtures/confirm-config.ts';
import {
  createEmptyDatabase,
  createTestDatabase,
  type TestDatabase,
} from '../../support/fixtures/database.ts';
import { quietTemporal } from '../../support/fixtures/stage.ts';
import { until } from '../../support/fixtures/until.ts';
import { deleteTopic, observer } from '../../support/kafka/kafka-topic.ts';

// A broker of its own: the others need the topic of receipts that is missing here.
let servers: LocalKafka;
let made: TestDatabase;
let config: RelayConfig;
let relay: RunningRelay | undefined;
let events: RelayEvent[];

beforeAll(async () => {
  quietTemporal();
  const { KAFKA_BROKERS: _shared, ...env } = process.env;
  servers = await startKafka({ env });
}, 240_000);
afterAll(() => servers.stop());

beforeEach(async () => {
  made = await createTestDatabase();
  const orders = confirmingTopic('orders', { group: 'shop', receiptTimeout: '1h' });
  config = confirmConfig(
    made.url,
    inject('temporalAddress'),
    { kafka: { servers: servers.brokers.join(',') } },
    orders,
  );
  events = [];
});
afterEach(async () => {
  await relay?.stop();
  relay = undefined;
  await made.drop();
});

function start(): RunningRelay {
  relay = startRelay(config, { report: (event) => events.push(event) });
  return relay;
}

async function migrateTopicsByCommand(url = made.url, create = false): Promise<unknown> {
  const lines: string[] = [];
  const output = { ...createOutput(true), value: (value: unknown) => lines.push(JSON.stringify(value)) };
  const code = await migrateCommand(
    { database: async () => ({ url }), print: false, check: false, topics: async () => config, create },
    output,
  );
  expect(code).toBe(0);
  return JSON.parse(lines[0] ?? '');
}

async function partitionsOfReceipts(): Promise<number> {
  const admin = observer(servers.brokers.join(',')).admin();
  await admin.connect();
  const { topics } = await admin.fetchTopicMetadata({ topics: [receiptsAddress] });
  await admin.disconnect();
  return topics[0]?.partitions.length ?? 0;
}

test('a relay refuses to start if a topic asks for receipts and their topic does not exist', async () => {
  await expect(start().ready).rejects.toMatchObject({
    code: 'OUTBOX_RECEIPTS_MISSING',
    details: { address: receiptsAddress },
  });
  expect(await made.database.query('select name from outbox.topic')).toEqual([]);
});

test('migrate --topics creates the topic of receipts and writes the policies; a second run changes nothing', async () => {
  expect(await migrateTopicsByCommand()).toMatchObject({
    ok: true,
    topics: ['orders'],
    receipts: { wanted: 1, made: 1 },
  });
  expect(await partitionsOfReceipts()).toBe(3);
  expect(await made.database.query('select name, confirm_group from outbox.topic')).toEqual([
    { name: 'orders', confirm_group: 'shop' },
  ]);

  expect(await migrateTopicsByCommand()).toMatchObject({ receipts: { wanted: 1, made: 0 } });
  await start().ready;
});

test('migrate --topics applies the migrations first, at the given address', async () => {
  const empty = await createEmptyDatabase();
  const answer = await migrateTopicsByCommand(empty.url);
  const topics = await empty.database.query('select name from outbox.topic');
  await empty.drop();

  expect(answer).toMatchObject({ applied: expect.arrayContaining([expect.stringMatching(/_outbox$/)]) });
  expect(topics).toEqual([{ name: 'orders' }]);
});

test('migrate --create creates the topics missing in Kafka; a second run changes nothing', async () => {
  expect(await migrateTopicsByCommand()).toMatchObject({ created: [] });

  expect(await migrateTopicsByCommand(made.url, true)).toMatchObject({ created: ['orders'] });
  expect(await migrateTopicsByCommand(made.url, true)).toMatchObject({ created: [] });
});

test('an unreachable broker keeps no relay from starting; receipts are read when it is back', async () => {
  await migrateTopicsByCommand();
  const [node] = servers.nodes;
  await node?.stop();
  await start().ready;
  await until(() => events.some((event) => event.type === 'error' && event.during === 'receipts'), 60_000);

  await node?.start();

  const admin = observer(servers.brokers.join(',')).admin();
  await until(async () => {
    await admin.connect();
    const { groups } = await admin.listGroups();
    return groups.some(({ groupId }) => groupId.startsWith('outbox-receipts-'));
  }, 60_000);
  await admin.disconnect();
  await relay?.stop();
  await deleteTopic(observer(servers.brokers.join(',')), receiptsAddress);
});
