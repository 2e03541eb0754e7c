import { expect, test } from 'vitest';
import { z } from 'zod';
import { relayConnections } from '../../../src/app/relay/relay-connections.ts';
import type { RelayConfig } from '../../../src/config/config.ts';
import { topic } from '../../../src/core/topic.ts';

function config(lanes: readonly number[], connections?: number): RelayConfig {
  return {
    database: { url: 'postgresql://a', ...(connections !== undefined && { connections }) },
    temporal: {},
    topics: lanes.map((count, n) => topic(`t-${n}`, z.object({}), { lanes: count })),
    transports: {},
  };
}

test('a relay opens a connection per lane and some in reserve', () => {
  expect(relayConnections(config([1, 4]), 0)).toBe(11);
  expect(relayConnections(config([1]), 8)).toBe(14);
});

test('a relay of 200 topics leaves some of the hundred connections of PostgreSQL to others', () => {
  expect(relayConnections(config(Array.from({ length: 200 }, () => 1)), 0)).toBe(70);
});

test('the configured number of connections overrides the computed one', () => {
  expect(relayConnections(config([64, 64], 5), 100)).toBe(5);
});
