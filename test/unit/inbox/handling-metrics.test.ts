import * as api from '@opentelemetry/api';
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import { afterEach, expect, test } from 'vitest';
import { Tally } from '../../../src/inbox/consumer-counts.ts';
import { HandlingMetrics } from '../../../src/inbox/handling/handling-metrics.ts';
import { meterFrom } from '../../../src/telemetry/meter.ts';

class ManualReader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

afterEach(() => api.metrics.disable());

/** A provider of an application, whose readers are cumulative. */
function provider() {
  const reader = new ManualReader();
  api.metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
  /** What is told of a group, by metric and outcome. */
  const told = async (group: string) => {
    const { resourceMetrics } = await reader.collect();
    const all = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
    return Object.fromEntries(
      all.flatMap(({ dataPoints, descriptor }) =>
        dataPoints.flatMap(({ attributes, value }) => {
          if (attributes['messaging.consumer.group.name'] !== group) return [];
          return [[`${descriptor.name} ${String(attributes['outcome'] ?? '')}`.trim(), value]];
        }),
      ),
    );
  };
  return { told };
}

/** What one consumer of the topic has, in the provider that is set up. */
function consuming(group: string) {
  const tally = new Tally(['orders'], () => undefined);
  const meter = meterFrom(api);
  if (meter === undefined) throw new Error('No provider is set up.');
  const metrics = new HandlingMetrics({ meter, group, tally, systemOf: () => 'kafka' });
  const count = (end: 'handled' | 'duplicates' | 'parked', times: number): void => {
    for (let time = 0; time < times; time += 1) tally.count(end, 'orders');
  };
  return { count, metrics };
}

test('what a consumer has counted is told after its stop, too, and once', {
  tags: ['metrics-say-what-happened'],
}, async () => {
  const { told } = provider();
  const { count, metrics } = consuming('stopped');
  count('handled', 3);
  count('duplicates', 2);
  count('parked', 1);
  metrics.stop();
  metrics.stop();
  const all = {
    'messaging.client.consumed.messages handled': 3,
    'messaging.client.consumed.messages parked': 1,
    'outbox.duplicates.dropped': 2,
    'outbox.parked': 1,
  };
  expect(await told('stopped')).toEqual(all);
  expect(await told('stopped')).toEqual(all);
  // A provider that is set up later is told all that the process has counted, once a consumer writes to it.
  api.metrics.disable();
  const later = provider();
  consuming('other').metrics.stop();
  expect(await later.told('stopped')).toEqual(all);
});

test('what several consumers of a group and topic have counted is told as one sum', {
  tags: ['metrics-say-what-happened'],
}, async () => {
  const { told } = provider();
  const [one, other] = [consuming('twice'), consuming('twice')];
  one.count('handled', 3);
  other.count('handled', 1);
  expect(await told('twice')).toEqual({ 'messaging.client.consumed.messages handled': 4 });
  one.metrics.stop();
  other.count('handled', 1);
  expect(await told('twice')).toEqual({ 'messaging.client.consumed.messages handled': 5 });
  const next = consuming('twice');
  next.count('handled', 2);
  other.metrics.stop();
  next.metrics.stop();
  expect(await told('twice')).toEqual({ 'messaging.client.consumed.messages handled': 7 });
});
