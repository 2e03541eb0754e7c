import { expect, test } from 'vitest';
import { relayServers } from '../../../src/app/relay/relay-servers.ts';
import type { RelayEvent } from '../../../src/relay/report.ts';

const denied = Object.assign(new Error('permission denied for table orders'), {
  code: '42501',
  severity: 'ERROR',
});

test.each([
  ['claim', 'OUTBOX_PRIVILEGE_MISSING'],
  ['expiry', 'OUTBOX_PRIVILEGE_MISSING'],
  ['notices', '42501'],
] as const)('a missing right is named, but not where a callback may lack it: %s', (during, code) => {
  const told: RelayEvent[] = [];
  const { report } = relayServers({
    at: { url: 'postgresql://localhost/shop' },
    target: { address: 'localhost:7233', namespace: 'default', tls: undefined, apiKey: undefined },
    report: (event) => told.push(event),
    workers: undefined,
    reached: () => undefined,
    signal: new AbortController().signal,
    withinMs: 0,
  });
  report({ type: 'error', during, error: denied });
  expect(told).toMatchObject([{ during, error: { code } }]);
});
