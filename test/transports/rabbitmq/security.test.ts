import { createServer } from 'node:tls';
import { expect, inject, onTestFinished, test } from 'vitest';
import { type RabbitmqOptions, rabbitmq } from '../../../src/transports.ts';
import { type Credentials, testAuthority } from '../../support/fixtures/certificates.ts';
import { batchOf, brokerAt } from './broker.ts';

const plain = inject('rabbitmqUrl');
const { ca, url } = inject('rabbitmqSecure');
const right: RabbitmqOptions = { url, tls: { ca } };
const own = testAuthority('own');

function transportOf(options: RabbitmqOptions) {
  const transport = rabbitmq(options);
  onTestFinished(() => transport.close());
  return transport;
}

/** A port that shows this certificate and says nothing else. */
async function showing(credentials: Credentials): Promise<string> {
  const server = createServer(credentials, (socket) => socket.on('error', () => socket.destroy()));
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => void server.close());
  const address = server.address();
  return `amqps://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
}

test('messages are sent and received over TLS with a private CA', async () => {
  const broker = await brokerAt();
  const address = await broker.exchange();
  const transport = transportOf(right);

  const { outcomes } = await batchOf(transport)(address, {});

  expect(outcomes).toMatchObject([{ kind: 'acknowledged' }]);
  const arrived: string[] = [];
  const subscribed = await transport.source().subscribe({
    addresses: [address],
    group: 'secure',
    concurrency: 1,
    batchSize: 10,
    fromBeginning: true,
    joinWithinMs: 30_000,
    assigned: () => undefined,
    disconnected: () => undefined,
    async handle(batch) {
      for (const message of batch.messages) {
        arrived.push(message.offset);
        batch.acknowledge(message);
      }
    },
  });
  await batchOf(transport)(address, { id: 'by-tls' });
  await expect.poll(() => arrived).toEqual(['by-tls']);
  await subscribed.stop();
  await broker.close();
});

const wrong: readonly [string, () => Promise<RabbitmqOptions>, RegExp][] = [
  [
    'another CA',
    async () => ({ ...right, tls: { ca: own.ca } }),
    /TLS with 127.* failed: self-signed certificate/,
  ],
  ['the CAs of Node', async () => ({ url }), /TLS with 127.* failed: self-signed certificate/],
  [
    'a certificate that has expired',
    async () => ({ url: await showing(own.issueExpired('127.0.0.1')), tls: { ca: own.ca } }),
    /TLS with 127.* failed: certificate has expired/,
  ],
  [
    'a certificate for another name',
    async () => ({ url: await showing(own.issue('other.test')), tls: { ca: own.ca } }),
    /TLS with 127.* failed: .*IP: 127\.0\.0\.1 is not in the cert's list/,
  ],
  [
    'a wrong password',
    async () => ({ ...right, url: url.replace(':guest@', ':hunter2@') }),
    /ACCESS_REFUSED/,
  ],
  [
    'no TLS',
    async () => ({ url: url.replace('amqps', 'amqp') }),
    /127.* closed the connection before it spoke AMQP: .*amqps/,
  ],
  [
    'TLS to the plain port',
    async () => ({ ...right, url: plain.replace('amqp', 'amqps') }),
    /TLS with 127.* failed: .* as a port without TLS does/,
  ],
];

test.each(wrong)(
  'with %s, messages wait, and hold, probe and consumer give the reason',
  async (_what, options, reason) => {
    const transport = transportOf(await options());

    const { hold, outcomes } = await batchOf(transport)('orders', {});

    expect(outcomes).toEqual([{ kind: 'deferred', onWire: false }]);
    expect(hold).toEqual({ scope: 'transport', reason: expect.stringMatching(reason) });
    await expect(transport.probe('orders')).rejects.toMatchObject({
      code: 'OUTBOX_SERVER_UNAVAILABLE',
      message: expect.stringMatching(reason),
    });
    const joining = transport.source().subscribe({
      addresses: ['orders'],
      group: 'g',
      concurrency: 1,
      batchSize: 1,
      fromBeginning: true,
      joinWithinMs: 5_000,
      assigned: () => undefined,
      disconnected: () => undefined,
      handle: async () => undefined,
    });
    await expect(joining).rejects.toMatchObject({
      code: 'OUTBOX_SERVER_UNAVAILABLE',
      message: expect.stringMatching(reason),
    });
    expect(JSON.stringify(hold)).not.toContain('hunter2');
  },
);
