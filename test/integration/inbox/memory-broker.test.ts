import pg from 'pg';
import { expect, inject, type TestContext, test } from 'vitest';
import { z } from 'zod';
import type { ConsumerEvent } from '../../../src/consumer.ts';
import { clientOf, consumer } from '../../../src/consumer.ts';
import { cancel, fromQuery, send, type Topic, topic, transaction } from '../../../src/index.ts';
import { startRelay } from '../../../src/relay.ts';
import { memoryBroker, skipTime } from '../../../src/testing.ts';
import { createTestDatabase } from '../../support/fixtures/database.ts';
import { quietTemporal } from '../../support/fixtures/stage.ts';
import { until } from '../../support/fixtures/until.ts';

const numbered = z.object({ n: z.number() });
/** Each has a workflow of its own while it waits. */
const byWorkflow = topic('by-workflow', numbered, { horizon: '31 days' });
const byLane = topic('by-lane', numbered, { horizon: '31 days', timer: 'lane' });
const hour = 3_600_000;

/** What a user's test has: an own database, a relay and a consumer in its process, and this broker between them. */
async function application(
  { onTestFinished }: TestContext,
  handle: (n: number, attempt: number) => unknown = () => undefined,
) {
  quietTemporal();
  const made = await createTestDatabase();
  onTestFinished(() => made.drop());
  const pool = new pg.Pool({ connectionString: made.url, max: 20 });
  onTestFinished(() => pool.end());
  const client = clientOf(pool);
  const broker = memoryBroker();
  const config = {
    database: { url: made.url },
    temporal: { address: inject('temporalAddress') },
    topics: [byWorkflow, byLane],
    transports: { kafka: broker },
  };
  const relay = startRelay(config, { logger: false });
  onTestFinished(() => relay.stop());
  const handled: number[] = [];
  const events: ConsumerEvent[] = [];
  const report = (event: ConsumerEvent): void => void events.push(event);
  const handling = consumer(client, {
    config,
    group: 'tests',
    retry: ['10s', '1h'],
    quickRetries: [],
    report,
  });
  for (const each of [byWorkflow, byLane]) {
    handling.on(each, async (_tx, { payload: { n }, attempt }) => {
      await handle(n, attempt);
      handled.push(n);
    });
  }
  const consuming = await handling.start();
  onTestFinished(() => consuming.stop());
  await relay.ready;
  return {
    broker,
    pool,
    client,
    handled,
    events,
    sendNow: (to: Topic<{ n: number }>, n: number, after?: number) =>
      transaction(client, (tx) =>
        send(tx, to, { n }, { key: 'k', ...(after === undefined ? {} : { after, ref: `order-${n}` }) }),
      ),
    cancelNow: (from: Topic<{ n: number }>, n: number) =>
      transaction(client, (tx) => cancel(tx, from, `order-${n}`)),
  };
}

test('messages of a relay arrive at the consumers of a memory broker as often as the broker has them', {
  tags: ['tests-skip-time'],
}, async (context) => {
  const { broker, events, handled, sendNow } = await application(context);

  const { id } = await sendNow(byLane, 1);
  await until(() => handled.length === 1);
  expect(broker.records(byLane.name)).toMatchObject([{ id, key: 'k', payload: '{"n":1}' }]);

  broker.rewind('tests', byLane.name);
  await until(() => events.some(({ type }) => type === 'duplicate'));
  broker.append(byLane.name, { key: 'k', body: 'no JSON', headers: { ce_id: 'another' } });
  await until(() => events.some(({ type }) => type === 'failed'));

  broker.faults.loseNextAnswer();
  const twice = await sendNow(byLane, 2);
  await until(() => broker.records(byLane.name).filter((record) => record.id === twice.id).length === 2);
  await sendNow(byLane, 3);
  await until(() => handled.includes(3));
  expect(handled).toEqual([1, 2, 3]);
});

test.for([byWorkflow, byLane])(
  'after skipped time $name: everything due by then is sent at once, and nothing else',
  { tags: ['tests-skip-time'] },
  async (delayed, context) => {
    const { broker, cancelNow, client, handled, sendNow } = await application(context);
    await sendNow(delayed, 1, 15 * 60_000);
    await sendNow(delayed, 2, 14 * 60_000);
    await sendNow(delayed, 3, 13 * 60_000);
    await sendNow(delayed, 4, 30 * 24 * hour);

    await skipTime(client, '13m');
    await until(() => handled.includes(3));
    expect(handled).toEqual([3]);
    expect(await cancelNow(delayed, 2)).toBe('canceled');

    // Skips add up.
    await skipTime(client, 2 * 60_000);
    await until(() => handled.includes(1));
    expect(handled).toEqual([3, 1]);

    // What is sent afterwards waits on the skipped clock.
    await sendNow(delayed, 5, hour);
    await sendNow(delayed, 6);
    await until(() => handled.includes(6));
    expect(handled).toEqual([3, 1, 6]);
    await skipTime(client, '1h');
    await until(() => handled.includes(5));
    await skipTime(client, '30 days');
    await until(() => handled.includes(4));
    expect(broker.records(delayed.name)).toHaveLength(5);
  },
);

test('after skipped time a parked message is tried again', { tags: ['tests-skip-time'] }, async (context) => {
  const tries: number[] = [];
  const { handled, client, pool, sendNow } = await application(context, (_n, attempt) => {
    tries.push(attempt);
    if (tries.length < 3) throw new Error(`failed ${tries.length} times`);
  });
  /** Its delay counts from the moment at which this is written. */
  const kept = (error: string) =>
    until(async () => {
      const { rows } = await pool.query('select from outbox.parked where last_error like $1', [`%${error}%`]);
      return rows.length === 1;
    });
  await sendNow(byLane, 1);
  await kept('failed 1 times');

  await skipTime(client, '10s');
  await kept('failed 2 times');
  expect(handled).toEqual([]);
  await skipTime(client, '1h');
  await until(() => handled.length === 1);
});

test('skipTime accepts a pool or a function, and refuses the transaction of a client', {
  tags: ['tests-skip-time'],
}, async (context) => {
  const made = await createTestDatabase();
  context.onTestFinished(() => made.drop());
  const pool = new pg.Pool({ connectionString: made.url });
  context.onTestFinished(() => pool.end());
  const aheadMs = async (): Promise<number> => {
    const { rows } = await pool.query<{ ms: number }>(
      'select (extract(epoch from outbox.clock() - now()) * 1000)::float8 as ms',
    );
    return rows[0]?.ms ?? Number.NaN;
  };

  await skipTime(pool, '1h');
  await skipTime((text, values) => pool.query(text, values), 1);
  await Promise.all([skipTime(pool, hour), skipTime(clientOf(pool), hour)]);
  expect(await aheadMs()).toBe(3 * hour + 1);

  const tx = fromQuery(async () => []);
  // @ts-expect-error a transaction is no client
  await expect(skipTime(tx, '1h')).rejects.toMatchObject({ code: 'OUTBOX_OPTION_INVALID' });
  for (const by of [0, -1, Number.NaN, '36501 days', 'soon' as '1s'] as const)
    await expect(skipTime(pool, by)).rejects.toMatchObject({ code: 'OUTBOX_OPTION_INVALID' });
  expect(await aheadMs()).toBe(3 * hour + 1);
});
