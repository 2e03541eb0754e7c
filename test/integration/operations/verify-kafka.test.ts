import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { kafkaLog } from '../../../src/brokers/kafka/client/log.ts';
import { kafkaTransport } from '../../../src/brokers/kafka/transport/kafka-transport.ts';
import type { LogRecord } from '../../../src/core/delivery-log.ts';
import { runCli } from '../../support/fixtures/cli.ts';
import { KafkaFixture } from '../../support/kafka/kafka-fixture.ts';

let world: KafkaFixture;

beforeEach(async () => {
  world = await KafkaFixture.create(3);
});

afterEach(() => world.end());

/** Writes a record that was never sent. */
async function forge(headers: Readonly<Record<string, string>>): Promise<void> {
  const producer = world.broker.producer();
  await producer.connect();
  await producer.send({ topic: world.address, messages: [{ value: 'forged', headers: { ...headers } }] });
  await producer.disconnect();
}

async function readLog(since: Date | null): Promise<readonly LogRecord[]> {
  const { connection } = kafkaTransport({ servers: inject('kafkaBrokers') });
  const log = await kafkaLog(connection).open([world.address], since);
  const records: LogRecord[] = [];
  for await (const some of log.records()) records.push(...some);
  return records;
}

test('the log is read to its end at the time of opening, per partition in order, and from a given time on', async () => {
  expect(await readLog(null)).toEqual([]);
  for (let n = 0; n < 60; n += 1) await world.fixture.send(`${n}`, { key: `k${n % 7}` });
  await world.deliver();
  const all = await readLog(null);
  expect(all).toHaveLength(60);
  for (const partition of [0, 1, 2]) {
    const offsets = all
      .filter((record) => record.partition === partition)
      .map(({ offset }) => Number(offset));
    expect(offsets).toEqual(offsets.map((_, index) => index));
  }
  expect(all.find(({ id }) => id === world.fixture.idOf('5'))).toMatchObject({
    key: 'k5',
    source: world.source,
    type: 'orders',
  });
  const since = new Date(Math.max(...all.map(({ at }) => at.getTime())) + 1);
  expect(await readLog(since)).toEqual([]);
  await world.fixture.send('late');
  await world.deliver();
  expect((await readLog(since)).map(({ id }) => id)).toEqual([world.fixture.idOf('late')]);
});

test('a verification leaves no group and moves no offset', async () => {
  await world.fixture.send('a');
  await world.deliver();
  const admin = world.broker.admin();
  await admin.connect();
  expect(await world.operations.verify()).toMatchObject({ ok: true, records: 1 });
  const groups = (await admin.listGroups()).groups.filter(({ groupId }) =>
    groupId.startsWith('outbox-verify'),
  );
  for (const { groupId } of groups) {
    const [offsets] = await admin.fetchOffsets({ groupId, topics: [world.address] });
    expect(offsets?.partitions.map(({ offset }) => offset)).toEqual(['-1', '-1', '-1']);
  }
  await admin.disconnect();
});

test('the command names the broken promise and exits with 5', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'outbox-verify-'));
  // The built library loads at once; its sources would be compiled first.
  const library = path.resolve(import.meta.dirname, '../../../dist/src');
  const config = path.join(folder, 'outbox.config.ts');
  await writeFile(
    config,
    `import { z } from '${path.resolve(library, '../../node_modules/zod')}';
     import { defineConfig, topic } from '${library}/index.js';
     import { kafka } from '${library}/transports.js';
     export default defineConfig({
       database: { url: ${JSON.stringify(world.fixture.url)} }, temporal: {},
       topics: [topic('orders', z.unknown(), { address: ${JSON.stringify(world.address)} })],
       transports: { scripted: kafka({ servers: ${JSON.stringify(inject('kafkaBrokers'))} }) },
     });`,
  );
  try {
    await world.fixture.send('a', { key: 'k' });
    await world.deliver();
    const clean = await runCli(['verify', '--config', config, '--since', '1h', '--json']);
    expect(clean.code).toBe(0);
    expect(JSON.parse(clean.stdout)).toMatchObject({ ok: true, records: 1, unreadTopics: [] });

    await forge({ ce_id: randomUUID(), ce_source: world.source, ce_type: 'orders' });
    await forge({ ce_id: randomUUID(), ce_source: '/somebody/else', ce_type: 'orders' });
    await world.fixture.send('passed without being sent');
    await world.fixture.database.query(
      `update outbox.lane set cursor = (select max(position) from outbox.message), snapshot = pg_current_snapshot()`,
    );
    const broken = await runCli(['verify', '--config', config]);
    expect(broken.code).toBe(5);
    expect(broken.stdout).toMatch(/I1 no loss +NO +2 +1/);
    expect(broken.stdout).toContain('I2 no ghost: No row has this id.');
  } finally {
    await rm(folder, { recursive: true });
  }
});
