import * as api from '@opentelemetry/api';
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import { afterEach, expect, test } from 'vitest';
import { countedMetrics } from '../../../src/telemetry/counted-metrics.ts';
import { meterFrom } from '../../../src/telemetry/meter.ts';
import { prometheusName } from '../../../src/telemetry/metric.ts';
import { metrics } from '../../../src/watch/metrics.ts';

class ManualReader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

afterEach(() => api.metrics.disable());

test('without a provider of metrics there is no meter', { tags: ['metrics-say-what-happened'] }, () => {
  expect(meterFrom(api)).toBeUndefined();
  api.metrics.setGlobalMeterProvider(new MeterProvider());
  expect(meterFrom(api)).toBeDefined();
});

test('a gauge is read at each collection until its reading is stopped', async () => {
  const reader = new ManualReader();
  api.metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
  let read = 0;
  const stop = meterFrom(api)?.watch(countedMetrics.poolInUse, () => {
    read += 1;
    return [{ value: read, attributes: { a: 'b' } }];
  });
  const { resourceMetrics } = await reader.collect();
  expect(resourceMetrics.scopeMetrics[0]?.metrics).toMatchObject([
    {
      descriptor: {
        name: 'outbox.pool.connections.in_use',
        unit: '{connection}',
        description: countedMetrics.poolInUse.meaning,
      },
      dataPoints: [{ value: 1, attributes: { a: 'b' } }],
    },
  ]);
  await reader.collect();
  stop?.();
  await reader.collect();
  expect(read).toBe(2);
});

test('counters, levels and histograms keep their kind, and an instrument is made once', async () => {
  const reader = new ManualReader();
  api.metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
  const meter = meterFrom(api);
  meter?.add('stored', 1, {});
  meter?.add('stored', 2, {});
  meter?.add('holds', 1, {});
  meter?.add('holds', -1, {});
  meter?.record('lateness', 61, {});
  const { resourceMetrics } = await reader.collect();
  const found = resourceMetrics.scopeMetrics[0]?.metrics.map(({ dataPoints: [point], descriptor }) => [
    descriptor.name,
    typeof point?.value === 'number' ? point.value : point?.value.count,
  ]);
  expect(found).toEqual([
    ['outbox.messages.stored', 3],
    ['outbox.holds', 0],
    ['outbox.lateness', 1],
  ]);
});

test('no metric has an attribute whose values are not bounded', {
  tags: ['metrics-say-what-happened'],
}, () => {
  const named = new Set(metrics.flatMap<string>(({ attributes }) => attributes));
  expect([...named].filter((name) => /key|ref$|\bid\b/.test(name))).toEqual([]);
  expect(new Set(metrics.map(prometheusName)).size).toBe(metrics.length);
});
