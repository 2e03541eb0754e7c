import { expect, test } from 'vitest';
import { z } from 'zod';
import { memoryTransport } from '../../../src/brokers/memory/memory-transport.ts';
import { defineConfig } from '../../../src/config/config.ts';
import { type RelaySettings, resolveRelaySettings } from '../../../src/config/relay-settings.ts';
import { topic } from '../../../src/core/topic.ts';
import { defaultTimings } from '../../../src/relay/timings.ts';

const config = (relay: RelaySettings) =>
  defineConfig({
    database: { url: 'postgresql://localhost/shop' },
    temporal: {},
    topics: [topic('orders', z.unknown())],
    transports: { memory: memoryTransport() },
    relay,
  });

test('omitted settings have the documented defaults, and all can be written as words', () => {
  const { timings, limits, settings } = resolveRelaySettings({});

  expect(timings).toEqual(defaultTimings);
  expect(timings).toMatchObject({ lookIntervalMs: 10, idleLookIntervalMs: 100 });
  expect(limits).toEqual({ messages: 2_000, bytes: 16_777_216 });
  expect(settings).toEqual([
    { name: 'relay.batchBytes', value: '16777216 bytes' },
    { name: 'relay.batchMessages', value: '2000 messages' },
    { name: 'relay.lookInterval', value: '10ms' },
    { name: 'relay.idleLookInterval', value: '100ms' },
  ]);
});

test('durations may be words', () => {
  const { timings } = resolveRelaySettings({ lookInterval: 5, idleLookInterval: '2s' });

  expect(timings).toEqual({ ...defaultTimings, lookIntervalMs: 5, idleLookIntervalMs: 2_000 });
});

test('times that are given beside the settings go before them', () => {
  const { timings } = resolveRelaySettings({ lookInterval: 5 }, { lookIntervalMs: 7, drainTimeoutMs: 9 });

  expect(timings).toEqual({ ...defaultTimings, lookIntervalMs: 7, drainTimeoutMs: 9 });
});

test.each([
  ['lookInterval', { lookInterval: 0 }],
  ['idleLookInterval', { idleLookInterval: '2m' }],
  ['batchMessages', { batchMessages: 10_001 }],
  ['batchBytes', { batchBytes: 1 }],
] as const)('%s out of its range is refused with the range', (name, relay) => {
  expect(() => config(relay)).toThrow(
    expect.objectContaining({
      code: 'OUTBOX_CONFIG_INVALID',
      details: { issues: [expect.objectContaining({ setting: `relay.${name}` })] },
    }),
  );
});

test('an unknown setting and an invalid duration are refused by name', () => {
  const wrong = { lookIntervals: '5s' } as RelaySettings;
  expect(() => config(wrong)).toThrow(
    /relay\.lookIntervals is unknown: use one of batchMessages, .*lookInterval/,
  );
  const nonsense = { lookInterval: 'soon' } as unknown as RelaySettings;
  expect(() => config(nonsense)).toThrow(/relay\.lookInterval must be a duration of 1 ms to 1 second/);
});

test('settings of earlier versions are refused as gone, each by its name', () => {
  const former = [
    'drainTimeout',
    'laneIdleTimeout',
    'checkInterval',
    'probeInterval',
    'reconcileInterval',
    'archiveInterval',
    'scheduleCheckInterval',
  ];

  expect(() => config(Object.fromEntries(former.map((name) => [name, '5s'])))).toThrow(
    expect.objectContaining({
      code: 'OUTBOX_CONFIG_INVALID',
      details: {
        issues: former.map((name) => ({
          setting: `relay.${name}`,
          problem: 'is gone: its former default always applies',
        })),
      },
    }),
  );
});
