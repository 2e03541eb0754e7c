import { setImmediate as turn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { gate } from '../../support/fixtures/gate.ts';
import { ScriptedClient } from '../../support/fixtures/scripted-client.ts';
import { failing } from '../../support/fixtures/told-health.ts';
import { until } from '../../support/fixtures/until.ts';
import { consumerBench, numbered, numbers } from './consumer-bench.ts';

const two = { topics: [numbers('orders'), numbers('stock')], sourceOf: { stock: 1 } };

const another = { name: '20000101000000_outbox', checksum: 'x', compatible: true };

test.each([
  ['lacks a migration', 'from outbox.migration', [another], 'OUTBOX_MIGRATION_MISSING'],
  ['was emptied', 'from outbox.migration', [], 'OUTBOX_SCHEMA_EMPTIED'],
  ['hides its rows', 'from outbox.migration', [], 'OUTBOX_ROW_SECURITY_ACTIVE'],
  ['is a copy', 'from outbox.installation', [{ id: 'i', same: false }], 'OUTBOX_INSTALLATION_MOVED'],
] as const)(
  'a database that %s is refused before the consumer joins, and what has begun ends',
  async (_, part, rows, code) => {
    const { consumer, database, sources, steps } = await consumerBench({ settings: { deadLetters: true } });
    database.on(part, () => rows);
    database.on('row_security_active', () => [{ hidden: code === 'OUTBOX_ROW_SECURITY_ACTIVE' }]);

    await expect(consumer.start()).rejects.toMatchObject({ code });
    expect(sources[0].subscriptions).toEqual([]);
    expect(steps).toEqual(['dead letters of orders']);
    expect(consumer.health().state).toBe('stopped');
    await expect(consumer.status()).rejects.toMatchObject({
      details: { option: 'status' },
    });
  },
);

test('a source that cannot be joined ends the start, and joined ones are left', async () => {
  const { consumer, sources, steps } = await consumerBench(two);
  sources[1].joins = () => Promise.reject(new Error('refused'));

  await expect(consumer.start()).rejects.toThrow('refused');
  expect(steps).toContain('leave memory');
  expect(steps).not.toContain('leave other');

  sources[1].joins = async () => undefined;
  const running = await consumer.start();
  await running.stop();
  expect(steps).toContain('leave other');
});

test('a stop during the start ends it at once, and no further source is joined', async () => {
  const { consumer, sources } = await consumerBench(two);
  const joining = gate();
  sources[0].joins = () => joining.opened;
  const starting = consumer.start().catch((error: unknown) => error);
  await until(() => sources[0].subscriptions.length > 0, 5_000, 1);
  const stopping = consumer.stop();
  expect(await starting).toMatchObject({ code: 'OUTBOX_STOPPED' });
  await stopping;
  expect(consumer.health().state).toBe('stopped');
  expect(sources[0].subscriptions[0]?.signal?.aborted).toBe(true);
  joining.open();
  await turn();

  expect(sources[1].subscriptions).toEqual([]);
});

test('questions of the start use the client that waits for the database, which is healthy afterwards', async () => {
  const patient = new ScriptedClient();
  const signals: AbortSignal[] = [];
  let shown: unknown;
  const { consumer, database, events } = await consumerBench({
    settings: { window: 'forever' },
    parts: {
      whenReached: (given, report, stopping) => {
        signals.push(stopping);
        report({ type: 'waiting-for-server', server: 'PostgreSQL', error: new Error('away') });
        shown = failing(consumer);
        return {
          $transaction: (work, options) => {
            patient.transactions.push({ options, statements: [], committed: false });
            return given.$transaction(work, options);
          },
        };
      },
    },
  });
  const running = await consumer.start();
  const asked = (words: string) =>
    database.transactions.filter(({ statements }) => statements.some(({ text }) => text.includes(words)));
  expect(patient.transactions, 'the level, and the schema').toHaveLength(2);
  expect([asked('transaction_isolation').length, asked('from outbox.installation').length]).toEqual([1, 1]);
  expect(events).toMatchObject([{ type: 'waiting-for-server', server: 'PostgreSQL' }]);
  expect([shown, failing(running)]).toEqual([['PostgreSQL'], []]);
  expect(signals[0]?.aborted).toBe(false);
  await running.stop();
  expect(signals[0]?.aborted).toBe(true);
});

test('a database that refuses its first question fails the start', async () => {
  const { consumer, database, sources } = await consumerBench();
  database.on('transaction_isolation', () => {
    throw new Error('refused');
  });

  await expect(consumer.start()).rejects.toThrow('refused');
  expect(sources[0].subscriptions).toEqual([]);
});

test('errors of a listener are ignored', async () => {
  const { consumer, sources } = await consumerBench({
    settings: {
      report: () => {
        throw new Error('of the listener');
      },
    },
  });
  const running = await consumer.start();
  onTestFinished(() => running.stop());
  expect(await sources[0].deliver(numbered(1))).toEqual([['acknowledged', '1']]);
});

test('a stop during the first round of its ids ends the start before it joins or hosts anything', async () => {
  const { consumer, database, sources, plan } = await consumerBench();
  let stopping: Promise<void> | undefined;
  database.on('insert into outbox.consumer_group', () => {
    stopping = consumer.stop();
    return [];
  });
  await expect(consumer.start()).rejects.toMatchObject({ code: 'OUTBOX_STOPPED' });
  await stopping;
  await turn();

  expect(sources[0].subscriptions).toEqual([]);
  expect(plan).toThrow('Nobody hosts');
});

test.each([
  [12, []],
  [11, [{ type: 'pool-small', connections: 11, needed: 12 }]],
])('a pool of %i connections is compared with what may be in hand concurrently', async (max, told) => {
  const { consumer, database, events } = await consumerBench({
    settings: { concurrency: 2, keyConcurrency: 3, parkedConcurrency: 3 },
  });
  Object.assign(database.client, {
    _engineConfig: { adapter: { adapterName: '@prisma/adapter-pg', config: { max } } },
  });
  const running = await consumer.start();
  onTestFinished(() => running.stop());

  expect(events.filter(({ type }) => type === 'pool-small')).toEqual(told);
});
