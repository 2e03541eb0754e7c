import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineConfig } from '../../../src/config/config.ts';
import { type RelaySettings, resolveRelaySettings } from '../../../src/config/relay-settings.ts';
import { topic } from '../../../src/core/topic.ts';
import { memoryTransport } from '../../../src/transports/memory/memory-transport.ts';

const config = (relay: RelaySettings) =>
  defineConfig({
    database: { url: 'postgresql://localhost/shop' },
    temporal: {},
    topics: [topic('orders', z.unknown())],
    transports: { memory: memoryTransport() },
    relay,
  });

test('what is left out has the documented defaults, and all of it can be read in words', () => {
  const { timings, limits, settings } = resolveRelaySettings({});

  expect(timings).toEqual({
    runMs: 60_000,
    lingerMs: 5_000,
    hotLookMs: 10,
    idleLookMs: 100,
    checkMs: 1_000,
    probeMs: 1_000,
  });
  expect(limits).toEqual({ messages: 2_000, bytes: 16_777_216 });
  expect(settings).toEqual([
    { name: 'relay.batchBytes', value: '16777216 bytes' },
    { name: 'relay.batchMessages', value: '2000 messages' },
    { name: 'relay.run', value: '1m' },
    { name: 'relay.linger', value: '5s' },
    { name: 'relay.hotLook', value: '10ms' },
    { name: 'relay.idleLook', value: '100ms' },
    { name: 'relay.check', value: '1s' },
    { name: 'relay.probe', value: '1s' },
    { name: 'relay.reconcile', value: '1m' },
    { name: 'relay.archive', value: '5m' },
    { name: 'relay.scheduleCheck', value: '1m' },
  ]);
});

test('durations may be words, and 0 is a way to linger', () => {
  const { timings } = resolveRelaySettings({ run: '30s', linger: 0, probe: '250ms' });

  expect(timings).toMatchObject({ runMs: 30_000, lingerMs: 0, probeMs: 250 });
});

test.each([
  ['run', { run: '61s' }],
  ['run', { run: 99 }],
  ['hotLook', { hotLook: 0 }],
  ['idleLook', { idleLook: '2m' }],
  ['check', { check: 1.5 }],
  ['probe', { probe: '1 hour' }],
  ['batchMessages', { batchMessages: 10_001 }],
  ['batchBytes', { batchBytes: 1 }],
] as const)('%s out of its range is refused with the range', (name, relay) => {
  expect(() => config(relay)).toThrow(
    expect.objectContaining({
      code: 'OUTBOX_CONFIG_INVALID',
      details: expect.objectContaining({ setting: `relay.${name}` }),
    }),
  );
});

test('a misspelt setting and a text that is no duration are refused by name', () => {
  const wrong = { lingers: '5s' } as RelaySettings;
  expect(() => config(wrong)).toThrow(/relay.*lingers/);
  const nonsense = { linger: 'soon' } as unknown as RelaySettings;
  expect(() => config(nonsense)).toThrow(/relay\.linger is not a duration/);
});
