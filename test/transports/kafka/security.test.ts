import { createServer as createTlsServer } from 'node:tls';
import { expect, inject, onTestFinished, test } from 'vitest';
import type { KafkaOptions, Sasl } from '../../../src/brokers/kafka/transport/kafka-options.ts';
import { kafkaTransport } from '../../../src/brokers/kafka/transport/kafka-transport.ts';
import type { IncomingMessage } from '../../../src/brokers/source.ts';
import { type Credentials, testAuthority } from '../../support/fixtures/certificates.ts';
import { until } from '../../support/fixtures/until.ts';
import { createTopic, observer } from '../../support/kafka/kafka-topic.ts';

const { brokers: servers, plain, ca } = inject('secureKafka');
const alice = { username: 'alice', password: 'wonderland' };
const right: KafkaOptions = { servers, tls: { ca }, sasl: { mechanism: 'scram-sha-256', ...alice } };

function transportOf(options: KafkaOptions) {
  const transport = kafkaTransport(options);
  onTestFinished(() => transport.close());
  return transport;
}

function batchFor(address: string) {
  return {
    address,
    partitions: 1,
    signal: new AbortController().signal,
    messages: [{ id: 'm-1', key: 'a', payload: '{}', headers: { ce_id: 'm-1' } }],
  };
}

test.each<Sasl>([
  { mechanism: 'plain', ...alice },
  { mechanism: 'scram-sha-256', ...alice },
  { mechanism: 'scram-sha-512', ...alice },
])('messages are sent and received over TLS with a private CA and a password by $mechanism', async (sasl) => {
  const address = await createTopic(observer(plain), { numPartitions: 1 });
  const transport = transportOf({ ...right, sasl });

  const { outcomes } = await transport.publish(batchFor(address));
  expect(outcomes).toMatchObject([{ kind: 'acknowledged' }]);

  const arrived: IncomingMessage[] = [];
  const subscribed = await transport.source().subscribe({
    addresses: [address],
    group: `${address}-group`,
    concurrency: 1,
    fromBeginning: true,
    joinWithinMs: 30_000,
    batchSize: 10,
    async handle(batch) {
      for (const message of batch.messages) {
        arrived.push(message);
        batch.acknowledge(message);
      }
    },
    assigned: () => undefined,
    disconnected: () => undefined,
  });
  await until(() => arrived.length === 1);
  await subscribed.stop();
  expect(arrived[0]?.header('ce_id')).toBe('m-1');
});

/** What Kafka takes without a key: a token of no signature. */
function unsignedToken(user: string, seconds: number): string {
  const now = Math.floor(Date.now() / 1_000);
  const parts = [{ alg: 'none' }, { sub: user, iat: now, exp: now + seconds }];
  return `${parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')}.`;
}

test('a connection is replaced before its token expires, so that nothing waits and nothing is ambiguous', {
  tags: ['inconclusive-may-be-stored'],
}, async () => {
  const address = await createTopic(observer(plain), { numPartitions: 1 });
  let tokens = 0;
  const oauthBearerProvider = async () => {
    tokens += 1;
    return { value: unsignedToken('alice', 10) };
  };
  const transport = transportOf({
    servers,
    tls: { ca },
    sasl: { mechanism: 'oauthbearer', oauthBearerProvider },
  });
  const kinds = new Set<string>();
  await until(async () => {
    for (const outcome of (await transport.publish(batchFor(address))).outcomes) kinds.add(outcome.kind);
    return tokens >= 3;
  }, 50_000);
  expect([...kinds]).toEqual(['acknowledged']);
});

/** A port that shows this certificate and says nothing else. */
async function showing(credentials: Credentials): Promise<string> {
  const server = createTlsServer(credentials, (socket) => socket.on('error', () => socket.destroy()));
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => void server.close());
  const address = server.address();
  return typeof address === 'object' && address !== null ? `127.0.0.1:${address.port}` : '';
}

const own = testAuthority('own');

const wrong: readonly [string, () => Promise<KafkaOptions>, RegExp][] = [
  [
    'another CA',
    async () => ({ ...right, tls: { ca: own.ca } }),
    /TLS with 127.* failed: unable to verify the first certificate/,
  ],
  ['the CAs of Node', async () => ({ ...right, tls: true }), /TLS with 127.* failed: unable to verify/],
  [
    'a certificate that has expired',
    async () => ({ ...right, tls: { ca: own.ca }, servers: await showing(own.issueExpired('127.0.0.1')) }),
    /TLS with 127.* failed: certificate has expired/,
  ],
  [
    'a certificate for another name',
    async () => ({ ...right, tls: { ca: own.ca }, servers: await showing(own.issue('other.test')) }),
    /TLS with 127.* failed: .*IP: 127\.0\.0\.1 is not in the cert's list/,
  ],
  [
    'a wrong password',
    async () => ({ ...right, sasl: { mechanism: 'plain', ...alice, password: 'x' } }),
    /Authentication failed/,
  ],
  ['no password', async () => ({ servers, tls: { ca } }), /127.* closed the connection: .*`sasl`/],
  ['no TLS', async () => ({ servers }), /127.* (?:closed the connection: .*`tls`|Broker requires TLS)/],
  [
    'TLS to the plain port',
    async () => ({ ...right, servers: plain }),
    /TLS with 127.* failed: .* as a port without TLS does/,
  ],
];

test.each(wrong)('with %s, messages wait; probe and hold give the reason', async (_what, options, reason) => {
  const address = await createTopic(observer(plain), { numPartitions: 1 });
  const transport = transportOf(await options());

  const { outcomes, hold } = await transport.publish(batchFor(address));

  expect(outcomes).toMatchObject([{ kind: 'deferred' }]);
  expect(hold?.reason).toMatch(reason);
  await expect(transport.probe(address)).rejects.toMatchObject({
    code: 'OUTBOX_SERVER_UNAVAILABLE',
    message: expect.stringMatching(reason),
  });
  expect(JSON.stringify(hold)).not.toContain('wonderland');
});
