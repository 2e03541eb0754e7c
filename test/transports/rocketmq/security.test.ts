import { createServer } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { type RocketmqOptions, rocketmq } from '../../../src/transports.ts';
import { type Credentials, testAuthority } from '../../support/fixtures/certificates.ts';
import { newTopic, options } from './rocketmq-stage.ts';
import { batchOf } from './traffic.ts';

const own = testAuthority('own');

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

/** A server that enforces TLS and users refuses others: enforced.test.ts. */
const wrong: readonly [string, () => Promise<RocketmqOptions>, RegExp, string][] = [
  [
    'a certificate that has expired',
    async () => ({ ...options, tls: { ca: own.ca }, servers: await showing(own.issueExpired('127.0.0.1')) }),
    /TLS with 127.* failed: certificate has expired/,
    tls,
  ],
  [
    'a certificate for another name',
    async () => ({ ...options, tls: { ca: own.ca }, servers: await showing(own.issue('other.test')) }),
    /TLS with 127.* failed: .*IP: 127\.0\.0\.1 is not in the cert's list/,
    tls,
  ],
  [
    'TLS to a port without it',
    async () => ({ ...options, tls: true, servers: await deaf() }),
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
