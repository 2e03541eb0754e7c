import { metrics as otel } from '@opentelemetry/api';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { permanent, receiver } from '../../../src/http.ts';
import type { countedMetrics } from '../../../src/telemetry/counted-metrics.ts';
import { createTestDatabase, type TestDatabase } from '../../support/fixtures/database.ts';
import { openPrisma } from '../../support/fixtures/prisma.ts';
import { signed, webhookSecret } from '../../support/fixtures/webhook.ts';

const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
let provider: MeterProvider;
let made: TestDatabase;
beforeAll(async () => {
  made = await createTestDatabase();
  provider = new MeterProvider({
    readers: [new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })],
  });
  otel.setGlobalMeterProvider(provider);
});
afterAll(async () => {
  otel.disable();
  await provider.shutdown();
  await made.drop();
});

interface Point {
  readonly attributes: object;
  readonly value: number | { readonly count: number };
}

/** Every point of a metric for the group: its attributes, and its value, or of a histogram the count. Other files share the process. */
async function pointsOf(name: (typeof countedMetrics)[keyof typeof countedMetrics]['name']) {
  exporter.reset();
  await provider.forceFlush();
  const measured = exporter
    .getMetrics()
    .flatMap(({ scopeMetrics }) => scopeMetrics)
    .flatMap((scope) => scope.metrics)
    .filter(({ descriptor }) => descriptor.name === name);
  return measured.flatMap(({ dataPoints }) =>
    Array.from<Point, object>(dataPoints, ({ attributes, value }) => ({
      ...attributes,
      value: typeof value === 'number' ? value : value.count,
    })).filter((point) => Reflect.get(point, 'messaging.consumer.group.name') === 'shop'),
  );
}

test('what is received by HTTP is measured as what a consumer handles', async ({ onTestFinished }) => {
  const prisma = openPrisma(made.url);
  onTestFinished(() => prisma.$disconnect());
  const given = { client: prisma, group: 'shop', secret: webhookSecret('k'), report: () => undefined };
  const take = receiver(given, async (_tx, { payload }) => {
    if (payload === 'never') throw permanent(new Error('no such order'));
    if (payload === 'not now') throw new TypeError('busy');
  });
  const post = async (payload: string, topic: string | undefined, times = 1): Promise<number> => {
    const more = {
      ...(topic !== undefined && { 'ce-type': topic }),
      'ce-time': new Date(Date.now() - 5_000).toISOString(),
    };
    const { request } = signed(JSON.stringify(payload), { more });
    let status = 0;
    for (let time = 0; time < times; time += 1) ({ status } = await take(request()));
    return status;
  };
  expect(await post('a', 'orders', 3)).toBe(204);
  expect(await post('b', 'orders')).toBe(204);
  expect(await post('c', undefined)).toBe(204);
  expect(await post('never', 'orders')).toBe(422);
  expect(await post('not now', 'orders')).toBe(500);
  const forged = await take(
    signed('"x"', { by: webhookSecret('z'), more: { 'ce-type': 'forged' } }).request(),
  );
  expect(forged.status).toBe(401);

  const group = {
    'messaging.system': 'http',
    'messaging.operation.name': 'process',
    'messaging.consumer.group.name': 'shop',
  };
  const orders = { ...group, 'messaging.destination.name': 'orders' };
  expect(await pointsOf('messaging.client.consumed.messages')).toEqual([
    { ...orders, outcome: 'handled', value: 2 },
    { ...group, outcome: 'handled', value: 1 },
    { ...orders, outcome: 'failed', value: 1 },
  ]);
  expect(await pointsOf('outbox.duplicates.dropped')).toEqual([{ ...orders, value: 2 }]);
  expect(await pointsOf('messaging.process.duration')).toEqual([
    { ...orders, value: 2 },
    { ...group, value: 1 },
    { ...orders, 'error.type': 'PermanentError', value: 1 },
    { ...orders, 'error.type': 'TypeError', value: 1 },
  ]);
  expect(await pointsOf('outbox.handler.tries')).toEqual([
    { ...orders, value: 4 },
    { ...group, value: 1 },
  ]);
  expect(await pointsOf('outbox.handler.failures')).toEqual([
    { ...orders, 'error.type': 'PermanentError', value: 1 },
    { ...orders, 'error.type': 'TypeError', value: 1 },
  ]);
  expect(await pointsOf('outbox.effect.delay')).toEqual([
    { ...orders, value: 2 },
    { ...group, value: 1 },
  ]);

  for (let n = 0; n < 110; n += 1) await post('d', `topic-${n}`);
  const points = await pointsOf('messaging.client.consumed.messages');
  expect(
    new Set(points.map((point) => JSON.stringify(Reflect.get(point, 'messaging.destination.name')))).size,
  ).toBe(101);
});
