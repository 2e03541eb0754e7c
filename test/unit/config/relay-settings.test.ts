import { expect, test } from 'vitest';
import { z } from 'zod';
import { memoryTransport } from '../../../src/brokers/memory/memory-transport.ts';
import { defineConfig } from '../../../src/config/config.ts';
import { type RelaySettings, resolveRelaySettings } from '../../../src/config/relay-settings.ts';
import { topic } from '../../../src/core/topic.ts';

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

  expect(timings).toEqual({
    drainTimeoutMs: 60_000,
    laneIdleTimeoutMs: 5_000,
    lookIntervalMs: 10,
    idleLookIntervalMs: 100,
    checkIntervalMs: 1_000,
    probeIntervalMs: 1_000,
    stuckAfterMs: 60_000,
  });
  expect(limits).toEqual({ messages: 2_000, bytes: 16_777_216 });
  expect(settings).toEqual([
    { name: 'relay.batchBytes', value: '16777216 bytes' },
    { name: 'relay.batchMessages', value: '2000 messages' },
    { name: 'relay.drainTimeout', value: '1m' },
    { name: 'relay.laneIdleTimeout', value: '5s' },
    { name: 'relay.lookInterval', value: '10ms' },
    { name: 'relay.idleLookInterval', value: '100ms' },
    { name: 'relay.checkInterval', value: '1s' },
    { name: 'relay.probeInterval', value: '1s' },
    { name: 'relay.reconcileInterval', value: '1m' },
    { name: 'relay.archiveInterval', value: '5m' },
    { name: 'relay.scheduleCheckInterval', value: '1m' },
  ]);
});

test('durations may be words, and 0 is one', () => {
  const { timings } = resolveRelaySettings({
    drainTimeout: '30s',
    laneIdleTimeout: 0,
    probeInterval: '250ms',
  });

  expect(timings).toMatchObject({ drainTimeoutMs: 30_000, laneIdleTimeoutMs: 0, probeIntervalMs: 250 });
});

test.each([
  ['drainTimeout', { drainTimeout: '61s' }],
  ['drainTimeout', { drainTimeout: 99 }],
  ['lookInterval', { lookInterval: 0 }],
  ['idleLookInterval', { idleLookInterval: '2m' }],
  ['checkInterval', { checkInterval: 1.5 }],
  ['probeInterval', { probeInterval: '1 hour' }],
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
  const wrong = { laneIdleTimeouts: '5s' } as RelaySettings;
  expect(() => config(wrong)).toThrow(/relay.*laneIdleTimeouts/);
  const nonsense = { laneIdleTimeout: 'soon' } as unknown as RelaySettings;
  expect(() => config(nonsense)).toThrow(/relay\.laneIdleTimeout must be a duration of 0 ms to 1 minute/);
});
