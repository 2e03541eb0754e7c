import { expect, test } from 'vitest';
import { once } from '../../../src/consumer.ts';
import { cancel, reschedule, schedule, send, sendBatch, unschedule } from '../../../src/index.ts';
import { parkingOnce } from '../../support/fixtures/parking-once.ts';
import { until } from '../../support/fixtures/until.ts';

test('through a client that leaves every value as text, messages are sent, changed, handled once, parked and tried again', async (context) => {
  const types = { getTypeParser: () => (text: unknown) => text };
  const { broker, client, consuming, orders, tried } = await parkingOnce(context, { types });

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
