import { randomUUID } from 'node:crypto';
import { beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import type { WorkflowOptions } from '../../../src/brokers/workflow/transport/workflow-options.ts';
import { testAuthority } from '../../support/fixtures/certificates.ts';
import { countKinds, outgoing, publishTo } from '../../support/fixtures/outgoing.ts';
import { quietTemporal } from '../../support/fixtures/stage.ts';
import { type GateOptions, temporalGate } from '../../support/fixtures/temporal-gate.ts';
import { transportTo } from './workflow-stage.ts';

beforeAll(quietTemporal);

const authority = testAuthority('right');
const server = authority.issue('127.0.0.1', 'temporal.test');
const serverRootCACertificate = authority.ca;
const message = () => ({ ...outgoing('a'), payload: '{}' });

const gateOf = (options: Partial<GateOptions> = {}) =>
  temporalGate({ onTestFinished }, { server, to: inject('ownTemporal'), ...options });

const transportAt = (address: string, options: Partial<WorkflowOptions>) =>
  transportTo({ type: 'order', taskQueue: 'nobody', id: () => `order-${randomUUID()}`, address, ...options });

test('messages arrive over TLS with a private CA, and with a required API key', async () => {
  const { address } = await gateOf({ admits: (sent) => sent === 'Bearer right-key' });
  const transport = transportAt(address, {
    tls: { serverRootCACertificate },
    apiKey: async () => 'right-key',
  });

  await transport.probe('orders');
  expect(countKinds(await publishTo(transport, 'orders', [message()]))).toEqual({ acknowledged: 1 });
});

const wrong: readonly [string, Partial<GateOptions>, Partial<WorkflowOptions>, string, RegExp][] = [
  [
    'another CA',
    {},
    { tls: { serverRootCACertificate: testAuthority('other').ca } },
    'OUTBOX_TLS_FAILED',
    /unknown CA/,
  ],
  [
    'a certificate that has expired',
    { server: authority.issueExpired('127.0.0.1') },
    { tls: { serverRootCACertificate } },
    'OUTBOX_TLS_FAILED',
    /has expired/,
  ],
  [
    'a certificate for another name',
    { server: authority.issue('other.test') },
    { tls: { serverRootCACertificate } },
    'OUTBOX_TLS_FAILED',
    /for other\.test, not for 127\.0\.0\.1/,
  ],
  ['a port that requires TLS', {}, { tls: false }, 'OUTBOX_TLS_FAILED', /requires TLS/],
  [
    'a wrong API key',
    { admits: (sent) => sent === 'Bearer right-key' },
    { tls: { serverRootCACertificate }, apiKey: 'wrong-key' },
    'OUTBOX_SERVER_REFUSED',
    /refuses/,
  ],
];

test.each(wrong)(
  'with %s, messages wait; probe and hold give the reason',
  async (_what, gate, options, code, reason) => {
    const { address } = await gateOf(gate);
    await expectHold(address, options, code, reason);
  },
);

test('with a port without TLS, messages wait; probe and hold give the reason', () =>
  expectHold(inject('ownTemporal'), { tls: true }, 'OUTBOX_TLS_FAILED', /does not speak TLS/));

async function expectHold(
  address: string,
  options: Partial<WorkflowOptions>,
  code: string,
  reason: RegExp,
): Promise<void> {
  const transport = transportAt(address, options);

  const result = await publishTo(transport, 'orders', [message()]);

  expect(result).toEqual({
    outcomes: [{ kind: 'deferred', onWire: false }],
    hold: { scope: 'transport', reason: expect.stringMatching(reason) },
  });
  expect(result.hold?.reason).toContain(address);
  expect(JSON.stringify(result)).not.toContain('wrong-key');
  await expect(transport.probe('orders')).rejects.toMatchObject({
    code,
    message: expect.stringMatching(reason),
  });
}
