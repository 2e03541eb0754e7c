import { metrics as otel } from '@opentelemetry/api';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import pg from 'pg';
import { afterAll, beforeAll, expect, inject, type TestContext, test } from 'vitest';
import { z } from 'zod';
import { startTimedRelay } from '../../../src/app/relay/start-relay.ts';
import { clientOf, consumer, permanent } from '../../../src/consumer.ts';
import { send, topic, transaction } from '../../../src/index.ts';
import { countedMetrics } from '../../../src/telemetry/counted-metrics.ts';
import { memoryBroker } from '../../../src/testing.ts';
import { createTestDatabase } from '../../support/fixtures/database.ts';
import { quietTemporal } from '../../support/fixtures/stage.ts';
import { until } from '../../support/fixtures/until.ts';

const orders = topic('metered-orders', z.object({ n: z.number() }), { timer: 'lane' });
/** A lane that is owned is counted. */
const lingering = { laneIdleTimeoutMs: 60_000 };
const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
let provider: MeterProvider;

beforeAll(() => {
  quietTemporal();
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  provider = new MeterProvider({ readers: [reader] });
  otel.setGlobalMeterProvider(provider);
});
afterAll(async () => {
  otel.disable();
  await provider.shutdown();
});

/** What is exported now, by the name of the metric. */
async function exported() {
  exporter.reset();
  await provider.forceFlush();
  const all = exporter
    .getMetrics()
    .flatMap(({ scopeMetrics }) => scopeMetrics)
    .flatMap((scope) => scope.metrics);
  return new Map(all.map(({ dataPoints, descriptor }) => [descriptor.name, dataPoints]));
}

const metrics = { ...countedMetrics, clock: { name: 'outbox.clock.offset' } };

/** The values of a metric whose attributes have these values, summed; of a histogram the count. */
async function valueOf(
  name: keyof typeof metrics,
  attributes: Readonly<Record<string, string>> = {},
): Promise<number> {
  const points = (await exported()).get(metrics[name].name) ?? [];
  const mine = points.filter((point) =>
    Object.entries(attributes).every(([attribute, value]) => point.attributes[attribute] === value),
  );
  return mine.reduce((sum, { value }) => sum + (typeof value === 'number' ? value : value.count), 0);
}

async function application({ onTestFinished }: TestContext) {
  const made = await createTestDatabase();
  onTestFinished(() => made.drop());
  const pool = new pg.Pool({ connectionString: made.url, max: 20 });
  onTestFinished(() => pool.end());
  const client = clientOf(pool);
  const config = {
    database: { url: made.url },
    temporal: { address: inject('temporalAddress') },
    topics: [orders],
    transports: { kafka: memoryBroker() },
  };
  return { client, config };
}

test('a relay and a consumer count what they deliver, how long it takes, and what fails', {
  tags: ['metrics-say-what-happened'],
}, async (context) => {
  const { client, config } = await application(context);
  const relay = startTimedRelay(config, { logger: false }, lingering);
  context.onTestFinished(() => relay.stop());
  await relay.ready;
  const consuming = await consumer(client, { config, group: 'metered', quickRetries: [], logger: false })
    .on(orders, async (_tx, { payload: { n } }) => {
      if (n === 3) throw permanent(new Error('never'));
    })
    .start();
  context.onTestFinished(() => consuming.stop());

  await transaction(client, async (tx) => {
    for (const n of [1, 2, 3]) await send(tx, orders, { n }, { key: String(n) });
    await send(tx, orders, { n: 4 }, { after: 200 });
  });
  await until(async () => (await consuming.status()).handled === 3);

  const place = { 'messaging.system': 'memory', 'messaging.destination.name': orders.name };
  const group = { 'messaging.consumer.group.name': 'metered' };
  await expect.poll(() => valueOf('sent', { ...place, 'messaging.operation.name': 'publish' })).toBe(4);
  expect(await valueOf('stored', { 'messaging.destination.name': orders.name })).toBe(4);
  expect(await valueOf('publishDelay', place)).toBe(3);
  expect(await valueOf('lateness', place)).toBe(1);
  expect(await valueOf('operationDuration', place)).toBeGreaterThan(0);
  // A stand-in may just be handing the lane over to its workflow.
  await expect.poll(() => valueOf('lanesOwned')).toBe(1);
  expect(await valueOf('consumed', { ...place, ...group, outcome: 'handled' })).toBe(3);
  await expect.poll(() => valueOf('consumed', { ...group, outcome: 'failed' })).toBe(1);
  expect(await valueOf('effectDelay', { ...place, ...group })).toBe(3);
  expect(await valueOf('processDuration', { ...group, 'error.type': 'PermanentError' })).toBe(1);
  expect(await valueOf('handlerTries', { ...place, ...group })).toBe(4);
  expect(await valueOf('handlerFailures', { ...place, ...group })).toBe(1);
  expect(await valueOf('handlerFailures', { ...group, 'error.type': 'PermanentError' })).toBe(1);

  // Figures of the database are read at the start, once per 15 s by one relay of all.
  await expect.poll(async () => (await exported()).has(metrics.clock.name)).toBe(true);
  expect(Math.abs(await valueOf('clock'))).toBeLessThan(60);
  await expect.poll(() => valueOf('serverUp', { server: 'Temporal' })).toBe(1);
  await expect.poll(() => valueOf('serverUp', { server: 'PostgreSQL' })).toBe(1);

  await relay.stop();
  expect(await valueOf('lanesOwned')).toBe(0);
});
