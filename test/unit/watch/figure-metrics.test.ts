import * as api from '@opentelemetry/api';
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Figures } from '../../../src/store/figures/figures.ts';
import { type Meter, meterFrom, type Observation } from '../../../src/telemetry/meter.ts';
import { FigureMetrics } from '../../../src/watch/figure-metrics.ts';
import { quietFigures } from '../../support/fixtures/quiet-figures.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => {
  vi.useRealTimers();
  api.metrics.disable();
});

class ManualReader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

const group = {
  group: 'billing',
  parked: 3,
  oldestParkedMs: 90_000,
  parkedKeys: 2,
  blockedKeys: 1,
  failed: 4,
  oldestFailedMs: 5_000,
  windowMs: null,
  seenMs: 1_000,
};

const figures: Figures = {
  ...quietFigures,
  oldestDueMs: 61_000,
  unreleasedMs: 2_000,
  due: [
    { topic: 'orders', announced: true, oldestDueMs: 61_000, reason: null },
    { topic: 'bills', announced: true, oldestDueMs: null, reason: null },
    { topic: 'unknown', announced: false, oldestDueMs: 5_000, reason: null },
  ],
  messages: [{ topic: 'orders', state: 'failed', messages: 7 }],
  groups: [group],
  attended: [
    { group: 'billing', consumers: 3, seenMs: 1, unread: 12 },
    { group: 'mail', consumers: 2, seenMs: 1, unread: 0 },
  ],
  pausedAddresses: [
    { group: 'billing', address: 'orders', pausedMs: 130_000, error: 'refused' },
    { group: 'billing', address: 'bills', pausedMs: 1_000, error: 'refused' },
  ],
  lags: [{ group: 'billing', topic: 'orders', messages: 12 }],
  receiptsOverdue: [
    { topic: 'orders', messages: 2, oldestMs: 1 },
    { topic: 'bills', messages: 3, oldestMs: 1 },
  ],
  archive: { behindMs: 3_600_000, leaves: 1 },
  // As the database orders them: the first that expires first.
  certificates: [
    { server: 'kafka', whose: 'client', leftMs: -2_000 },
    { server: 'Temporal', whose: 'authority', leftMs: 5_000 },
    { server: 'kafka', whose: 'authority', leftMs: 9_000 },
  ],
  relays: 2,
  clocks: [
    { host: 'web-1', aheadMs: -1_500 },
    { host: 'web-2', aheadMs: 1_000 },
  ],
};

function metered() {
  const watched = new Map<string, () => readonly Observation[]>();
  const meter: Meter = {
    add: () => undefined,
    record: () => undefined,
    watch(metric, observe) {
      watched.set(metric.name, observe);
      return () => void watched.delete(metric.name);
    },
  };
  const read = () => Object.fromEntries([...watched].map(([metric, observe]) => [metric, observe()]));
  return { exported: new FigureMetrics(meter), read, watched };
}

test('every figure of the database is exported in its unit, by group, topic and state', () => {
  const { exported, read } = metered();
  exported.seen({ figures, agoMs: 0, number: '1' });
  const billing = { group: 'billing' };
  expect(read()).toEqual({
    'outbox.oldest_due.age': [
      { value: 61, attributes: { topic: 'orders' } },
      { value: 0, attributes: { topic: 'bills' } },
    ],
    'outbox.unannounced.age': [{ value: 5, attributes: { topic: 'unknown' } }],
    'outbox.unreleased.age': [{ value: 2, attributes: {} }],
    'outbox.messages': [{ value: 7, attributes: { topic: 'orders', state: 'failed' } }],
    'outbox.parked.messages': [{ value: 3, attributes: billing }],
    'outbox.parked.keys': [{ value: 2, attributes: billing }],
    'outbox.parked.failed': [{ value: 4, attributes: billing }],
    'outbox.parked.oldest.age': [{ value: 90, attributes: billing }],
    'outbox.group.lag.messages': [{ value: 12, attributes: { ...billing, topic: 'orders' } }],
    'outbox.group.consumers': [
      { value: 3, attributes: billing },
      { value: 2, attributes: { group: 'mail' } },
    ],
    'outbox.group.paused.age': [
      { value: 130, attributes: billing },
      { value: 0, attributes: { group: 'mail' } },
    ],
    'outbox.receipts.overdue': [
      { value: 2, attributes: { topic: 'orders' } },
      { value: 3, attributes: { topic: 'bills' } },
    ],
    'outbox.archive.behind': [{ value: 3_600, attributes: {} }],
    'outbox.clock.offset': [
      // The database's clock is ahead of that of this host.
      { value: -1.5, attributes: { host: 'web-1' } },
      { value: 1, attributes: { host: 'web-2' } },
    ],
    'outbox.certificate.left': [
      { value: -2, attributes: { server: 'kafka', whose: 'client' } },
      { value: 5, attributes: { server: 'Temporal', whose: 'authority' } },
      { value: 9, attributes: { server: 'kafka', whose: 'authority' } },
    ],
    'outbox.relays': [{ value: 2, attributes: {} }],
  });
});

test('figures that no relay has read for a minute are not exported, and none after the stop', () => {
  const { exported, read, watched } = metered();
  const silent = Object.fromEntries([...watched.keys()].map((metric) => [metric, []]));
  expect(read()).toEqual(silent);
  exported.seen({ figures, agoMs: 10_000, number: '1' });
  vi.advanceTimersByTime(50_000);
  expect(read()['outbox.relays']).toEqual([{ value: 2, attributes: {} }]);
  vi.advanceTimersByTime(1);
  expect(read()).toEqual(silent);
  exported.stop();
  expect(watched.size).toBe(0);
});

test('messages of which there are none any more are counted as 0', () => {
  const { exported, read } = metered();
  exported.seen({ figures, agoMs: 0, number: '1' });
  exported.seen({ figures: { ...figures, messages: [] }, agoMs: 0, number: '2' });
  expect(read()['outbox.messages']).toEqual([{ value: 0, attributes: { topic: 'orders', state: 'failed' } }]);
});

test('the clock of a host that has no relay any more is not off', () => {
  const { exported, read } = metered();
  exported.seen({ figures, agoMs: 0, number: '1' });
  exported.seen({ figures: { ...figures, clocks: figures.clocks.slice(1) }, agoMs: 0, number: '2' });
  expect(read()['outbox.clock.offset']).toEqual([
    { value: 1, attributes: { host: 'web-2' } },
    { value: 0, attributes: { host: 'web-1' } },
  ]);
});

test('of a group that is gone a cumulative provider tells 0, not the last values', {
  tags: ['metrics-say-what-happened'],
}, async () => {
  const reader = new ManualReader();
  api.metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
  const meter = meterFrom(api);
  if (meter === undefined) throw new Error('No provider is set up.');
  const exported = new FigureMetrics(meter);
  const told = async () => {
    const { resourceMetrics } = await reader.collect();
    const points = resourceMetrics.scopeMetrics
      .flatMap((scope) => scope.metrics)
      .flatMap(({ dataPoints, descriptor }) =>
        dataPoints.map(({ attributes, value }) => ({
          name: descriptor.name,
          group: attributes['group'],
          value,
        })),
      );
    return Object.fromEntries(
      points.flatMap(({ group: of, name, value }) => (of === 'billing' ? [[name, value]] : [])),
    );
  };
  exported.seen({ figures, agoMs: 0, number: '1' });
  const before = {
    'outbox.parked.messages': 3,
    'outbox.parked.keys': 2,
    'outbox.parked.failed': 4,
    'outbox.parked.oldest.age': 90,
    'outbox.group.lag.messages': 12,
    'outbox.group.consumers': 3,
    'outbox.group.paused.age': 130,
  };
  expect(await told()).toEqual(before);
  exported.seen({
    figures: { ...figures, groups: [], lags: [], attended: [], pausedAddresses: [] },
    agoMs: 0,
    number: '2',
  });
  expect(await told()).toEqual(Object.fromEntries(Object.keys(before).map((name) => [name, 0])));
  exported.seen({ figures, agoMs: 0, number: '3' });
  expect(await told()).toEqual(before);
});

test('a lag that no relay knows at the moment, and a certificate that is gone, are not told as 0', {
  tags: ['metrics-say-what-happened'],
}, () => {
  const { exported, read } = metered();
  const elsewhere = { group: 'elsewhere', topic: 'orders', messages: 5 };
  exported.seen({ figures: { ...figures, lags: [...figures.lags, elsewhere] }, agoMs: 0, number: '1' });
  // Its broker does not answer, or the relay has just started.
  exported.seen({ figures: { ...figures, lags: [], certificates: [] }, agoMs: 0, number: '2' });
  expect(read()).toMatchObject({
    'outbox.group.lag.messages': [],
    'outbox.certificate.left': [],
    'outbox.parked.messages': [{ value: 3 }],
  });
});
