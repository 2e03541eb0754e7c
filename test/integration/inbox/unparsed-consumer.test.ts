import pg from 'pg';
import { expect, inject, test, vi } from 'vitest';
import { z } from 'zod';
import { consumer, once } from '../../../src/consumer.ts';
import {
  cancel,
  clientOf,
  reschedule,
  schedule,
  send,
  sendBatch,
  topic,
  unschedule,
} from '../../../src/index.ts';
import { startRelay } from '../../../src/relay.ts';
import { memoryBroker } from '../../../src/testing.ts';
import { createTestDatabase } from '../../support/fixtures/database.ts';
import { quietTemporal } from '../../support/fixtures/stage.ts';
import { until } from '../../support/fixtures/until.ts';

// Workers start in seconds on a quiet machine, and in ten times that on a busy one.
vi.setConfig({ testTimeout: 180_000 });

const orders = topic('orders', z.object({ n: z.number() }));

test('through a client that leaves every value as text, messages are sent, changed, handled once, parked and tried again', async ({
  onTestFinished,
}) => {
  quietTemporal();
  const made = await createTestDatabase();
  onTestFinished(() => made.drop());
  const types = { getTypeParser: () => (text: unknown) => text };
  const pool = new pg.Pool({ connectionString: made.url, types, max: 20 });
  onTestFinished(() => pool.end());
  const client = clientOf(pool);
  const broker = memoryBroker();
  const config = {
    database: { url: made.url },
    temporal: { address: inject('temporalAddress') },
    topics: [orders],
    transports: { kafka: broker },
  };
  const tried: string[] = [];
  const consuming = await consumer(client, { config, group: 'tests', retry: ['10s'], quickRetries: [] })
    .on(orders, async (_tx, { payload: { n }, attempt }) => {
      tried.push(`${n}/${attempt}`);
      if (n === 2 && attempt === 1) throw new Error('later');
    })
    .start();
  onTestFinished(() => consuming.stop());
  const relay = startRelay(config, { logger: false });
  onTestFinished(() => relay.stop());

  const answers = await client.$transaction(async (tx) => [
    (await send(tx, orders, { n: 1 })).state,
    (await sendBatch(tx, orders, [{ payload: { n: 2 } }, { payload: { n: 3 } }])).map(({ state }) => state),
    (await send(tx, orders, { n: 4 }, { after: '1h', ref: 'a' })).dueAt instanceof Date,
    await reschedule(tx, orders, 'a', { after: '2h' }),
    await cancel(tx, orders, 'a'),
    (await send(tx, orders, { n: 5 }, { after: '1h', key: 'k' })).duplicate,
    await cancel(tx, orders, { key: 'k' }),
    await schedule(tx, 'often', orders, { n: 6 }, { cron: '0 0 1 1 *' }),
    await schedule(tx, 'often', orders, { n: 6 }, { cron: '0 0 1 1 *' }),
    await unschedule(tx, 'often'),
    await unschedule(tx, 'often'),
    await once(tx, 'others', 'a', async () => 'done'),
    await once(tx, 'others', 'a', async () => 'done'),
  ]);
  expect(answers).toEqual([
    'ready',
    ['ready', 'ready'],
    true,
    'rescheduled',
    'canceled',
    false,
    1,
    'scheduled',
    'unchanged',
    'removed',
    'unknown',
    { duplicate: false, result: 'done' },
    { duplicate: true },
  ]);

  await until(() => consuming.counts().handled === 3);
  expect(tried.toSorted()).toEqual(['1/1', '2/1', '2/2', '3/1']);
  broker.rewind('tests', orders.name);
  await until(() => consuming.counts().duplicates === 3);
  expect(await consuming.status()).toMatchObject({ parked: 0, parkedKeys: 0, failed: 0, failing: [] });
  expect(tried).toHaveLength(4);
});
