import { createServer } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { expect, inject, onTestFinished, test } from 'vitest';
import { type RocketmqOptions, rocketmq } from '../../../src/transports.ts';
import { type Credentials, testAuthority } from '../../support/fixtures/certificates.ts';
import { until } from '../../support/fixtures/until.ts';
import { admin, newTopic, options } from './rocketmq-stage.ts';
import { batchOf, receiving } from './traffic.ts';

const { ca } = inject('rocketmq');
const right: RocketmqOptions = { ...options, tls: { ca } };
const own = testAuthority('own');

test('messages are sent and received over TLS with a private CA, and signed', async () => {
  const address = await newTopic('FIFO', 1);
  const group = `${address}-group`;
  await admin.createGroup(group, true);
  const transport = rocketmq(right);
  onTestFinished(() => transport.close());

  const { hold, outcomes } = await transport.publish(batchOf(address, { id: 'm-1' }));
  expect(hold).toBeUndefined();
  expect(outcomes).toEqual([{ kind: 'acknowledged', partition: null, offset: null }]);

  const member = await receiving(transport.source(), { addresses: [address], group });
  await until(() => member.arrived.length === 1);
  expect(member.arrived[0]?.header('ce_id')).toBe('m-1');
});

/** A port that shows this certificate, speaks HTTP/2, and says nothing else. */
async function showing(credentials: Credentials): Promise<string> {
  const server = createTlsServer({ ...credentials, ALPNProtocols: ['h2'] }, (socket) =>
    socket.on('error', () => socket.destroy()),
  );
  server.on('tlsClientError', () => undefined);
  return listening(server);
}

/** A port that ends what begins there, as one without TLS does. */
async function deaf(): Promise<string> {
  return listening(createServer((socket) => socket.once('data', () => socket.destroy())));
}

async function listening(server: ReturnType<typeof createServer>): Promise<string> {
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => void server.close());
  const address = server.address();
  return typeof address === 'object' && address !== null ? `127.0.0.1:${address.port}` : '';
}

const tls = 'OUTBOX_TLS_FAILED';
const refused = 'OUTBOX_SERVER_REFUSED';

const wrong: readonly [string, () => Promise<RocketmqOptions>, RegExp, string][] = [
  [
    'another CA',
    async () => ({ ...right, tls: { ca: own.ca } }),
    /TLS with 127.* failed: unable to verify the first certificate/,
    tls,
  ],
  ['the CAs of Node', async () => ({ ...right, tls: true }), /TLS with 127.* failed: unable to verify/, tls],
  [
    'a certificate that has expired',
    async () => ({ ...right, tls: { ca: own.ca }, servers: await showing(own.issueExpired('127.0.0.1')) }),
    /TLS with 127.* failed: certificate has expired/,
    tls,
  ],
  [
    'a certificate for another name',
    async () => ({ ...right, tls: { ca: own.ca }, servers: await showing(own.issue('other.test')) }),
    /TLS with 127.* failed: .*IP: 127\.0\.0\.1 is not in the cert's list/,
    tls,
  ],
  [
    'a wrong secret',
    async () => ({ ...right, secretKey: 'wrong' }),
    /UNAUTHORIZED: check signature failed/,
    refused,
  ],
  [
    'an unknown user',
    async () => ({ ...right, accessKey: 'bob' }),
    /UNAUTHORIZED: User:bob is not found/,
    refused,
  ],
  ['no user', async () => ({ servers: options.servers, tls: { ca } }), /UNAUTHORIZED/, refused],
  [
    'TLS to a port without it',
    async () => ({ ...right, servers: await deaf() }),
    /127\.0\.0\.1:\d+/,
    'OUTBOX_SERVER_UNAVAILABLE',
  ],
];

test.each(wrong)(
  'with %s, messages wait; probe and hold give the reason',
  async (_what, given, reason, code) => {
    const address = await newTopic('FIFO', 1);
    const transport = rocketmq({ requestTimeout: '10s', ...(await given()) });
    onTestFinished(() => transport.close());

    const { outcomes, hold } = await transport.publish(batchOf(address, {}));

    expect(outcomes).toEqual([{ kind: 'deferred', onWire: false }]);
    expect(hold).toMatchObject({ scope: 'transport', reason: expect.stringMatching(reason) });
    await expect(transport.probe(address)).rejects.toMatchObject({
      code,
      message: expect.stringMatching(reason),
    });
    expect(JSON.stringify([hold, transport.endpoint])).not.toContain('wonderland');
  },
);

test('a consumer with a wrong secret fails at its start with the reason, before its timeout', async () => {
  const address = await newTopic('FIFO', 1);
  const { secretKey: _right, ...rest } = options;
  const source = rocketmq({ ...rest, secretKey: 'wrong' }).source();
  const told: unknown[] = [];

  await expect(
    receiving(source, {
      addresses: [address],
      joinWithinMs: 5_000,
      disconnected: (error) => void told.push(error),
    }),
  ).rejects.toMatchObject({
    code: 'OUTBOX_SERVER_REFUSED',
    message: expect.stringContaining('UNAUTHORIZED: check signature failed'),
  });
  expect(told.length).toBeGreaterThan(0);
});
