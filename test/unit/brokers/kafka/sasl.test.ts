import { expect, onTestFinished, test } from 'vitest';
import { examineCluster } from '../../../../src/brokers/kafka/transport/examine.ts';
import { type KafkaOptions, kafkaConnection } from '../../../../src/brokers/kafka/transport/kafka-options.ts';
import { kafkaOver } from '../../../../src/brokers/kafka/transport/kafka-transport.ts';
import { type ScriptedKafka, scriptedKafka } from '../../../support/kafka/scripted-kafka.ts';

const soon = { timeout: 20_000, interval: 5 };

type Sasl = NonNullable<KafkaOptions['sasl']>;

/** Asks a broker for the partitions of a topic, as this user. */
async function asked(
  sasl: Sasl,
  spoil: (broker: ScriptedKafka) => unknown = () => undefined,
  requestTimeout = 10_000,
) {
  const broker = await scriptedKafka();
  broker.topics.set('orders', [1]);
  spoil(broker);
  const transport = kafkaOver(kafkaConnection({ servers: broker.address, requestTimeout, sasl }));
  onTestFinished(() => transport.close());
  const partitions: unknown = await transport.partitionCount?.('orders').catch((error: unknown) => error);
  return { broker, transport, partitions };
}

test.each<[string, Sasl, readonly string[]]>([
  ['plain', { mechanism: 'plain', username: 'u', password: 'p' }, ['PLAIN', '\0u\0p']],
  [
    'aws',
    { mechanism: 'aws', authorizationIdentity: 'a', accessKeyId: 'k', secretAccessKey: 's' },
    ['AWS', 'a\0k\0s\0'],
  ],
  [
    'aws with a session',
    {
      mechanism: 'aws',
      authorizationIdentity: 'a',
      accessKeyId: 'k',
      secretAccessKey: 's',
      sessionToken: 't',
    },
    ['AWS', 'a\0k\0s\0t'],
  ],
  [
    'oauthbearer',
    { mechanism: 'oauthbearer', oauthBearerProvider: async () => ({ value: 'token', extensions: { a: 1 } }) },
    ['OAUTHBEARER', 'n,,\u0001auth=Bearer token\u0001a=1\u0001\u0001'],
  ],
  [
    'oauthbearer without extensions',
    { mechanism: 'oauthbearer', oauthBearerProvider: async () => ({ value: 'token' }) },
    ['OAUTHBEARER', 'n,,\u0001auth=Bearer token\u0001\u0001'],
  ],
])('%s is sent as its mechanism requires, before any request', async (_name, sasl, credentials) => {
  const { broker, partitions } = await asked(sasl);

  expect(broker.credentials).toEqual(credentials);
  expect(partitions).toBe(1);
  expect(broker.calls).toEqual(['handshake', 'authenticate', 'metadata']);
});

test.each<[string, Sasl]>([
  ['SCRAM-SHA-256', { mechanism: 'scram-sha-256', username: 'u', password: 's3cret' }],
  ['SCRAM-SHA-512', { mechanism: 'scram-sha-512', username: 'u', password: 's3cret' }],
])('%s begins with a nonce and never sends the password', async (name, sasl) => {
  const { broker, partitions } = await asked(sasl, ({ mute }) => mute.add('authenticate'), 300);

  expect(broker.credentials[0]).toBe(name);
  expect(broker.credentials[1]).toMatch(/^n,,n=u,r=./);
  expect(broker.credentials.join()).not.toContain('s3cret');
  // This broker says no more.
  expect(partitions).toBeInstanceOf(Error);
});

test('a mechanism of the user gets the broker, and its messages have no length prefix', async () => {
  const heard: unknown[] = [];
  const { broker, partitions } = await asked(
    {
      mechanism: 'own',
      authenticationProvider: ({ host, port, logger, saslAuthenticate }) => ({
        async authenticate() {
          heard.push(host, port);
          logger.namespace('x').info('nothing');
          const request = (text: string) => ({
            encode: () => Buffer.concat([Buffer.from([0, 0, 0, text.length]), Buffer.from(text)]),
          });
          const response = {
            decode: (bytes: Buffer) => bytes.subarray(4),
            parse: (bytes: Buffer) => ({ length: bytes.length, text: bytes.toString() }),
          };
          heard.push(await saslAuthenticate({ request: request('one'), response }));
          heard.push(await saslAuthenticate({ request: request('two') }));
        },
      }),
    },
    (one) => (one.login.bytes = 'welcome'),
  );

  expect(broker.credentials).toEqual(['OWN', 'one', 'two']);
  expect(heard).toEqual(['127.0.0.1', broker.port, { length: 7, text: 'welcome' }, undefined]);
  expect(partitions).toBe(1);
});

test.each<[string, Sasl, (broker: ScriptedKafka) => unknown, RegExp]>([
  [
    'refused credentials',
    { mechanism: 'plain', username: 'u', password: 's3cret' },
    (broker) => Object.assign(broker.login, { code: 58, message: 'no such user' }),
    /127\.0\.0\.1:\d+.*no such user/,
  ],
  [
    'an unknown mechanism',
    { mechanism: 'unknown', authenticationProvider: () => ({ authenticate: async () => undefined }) },
    () => undefined,
    /127\.0\.0\.1:\d+.*mechanism/i,
  ],
])('%s are reported with the broker and without a secret', async (_what, sasl, spoil, text) => {
  const { broker, partitions } = await asked(sasl, spoil);

  expect(String(partitions)).toMatch(text);
  expect(String(partitions)).not.toContain('s3cret');
  expect(broker.calls).not.toContain('metadata');
  await expect.poll(() => broker.connections().open, soon).toBe(0);
});

test('a broker that does not answer to credentials in time is reported as such', async () => {
  const { broker, partitions } = await asked(
    { mechanism: 'plain', username: 'u', password: 'p' },
    ({ mute }) => mute.add('authenticate'),
    300,
  );

  expect(String(partitions)).toContain(broker.address);
});

test('a cluster is examined: its topics, their settings, and its version', async () => {
  const broker = await scriptedKafka();
  broker.topics.set('orders', [1, -1]);
  broker.topics.set('bills', [1]);
  broker.configs.set('orders', {
    'min.insync.replicas': '2',
    'max.message.bytes': '1000',
    'unclean.leader.election.enable': 'true',
  });
  broker.configs.set('bills', { 'min.insync.replicas': '-1', 'unclean.leader.election.enable': 'false' });
  broker.configs.set('1', { 'inter.broker.protocol.version': '3.9-IV0', 'message.max.bytes': '1' });
  const connection = kafkaConnection({ servers: broker.address, requestTimeout: 10_000 });

  const examined = await examineCluster(connection, ['orders', 'bills', 'gone']);
  broker.configs.set('1', { 'message.max.bytes': '1' });
  broker.configs.delete('orders');
  const later = await examineCluster(connection, ['orders']);
  broker.configs.delete('1');
  const unknown = await examineCluster(connection, []);

  expect(examined).toMatchObject({ version: '3.9-IV0', brokerCount: 1 });
  expect([...examined.topics]).toEqual([
    [
      'orders',
      {
        partitions: [
          { id: 0, leader: 1, replicas: 2, insync: 1 },
          { id: 1, leader: -1, replicas: 2, insync: 1 },
        ],
        minInsync: 2,
        maxBytes: 1_000,
        unclean: true,
      },
    ],
    [
      'bills',
      {
        partitions: [{ id: 0, leader: 1, replicas: 2, insync: 1 }],
        minInsync: undefined,
        maxBytes: undefined,
        unclean: false,
      },
    ],
  ]);
  expect(later.version).toBe('4 or later');
  expect(later.topics.get('orders')).toMatchObject({
    minInsync: undefined,
    maxBytes: undefined,
    unclean: undefined,
  });
  expect(unknown).toMatchObject({ version: undefined, topics: new Map() });
  await expect.poll(() => broker.connections().open, soon).toBe(0);
  const nowhere = kafkaConnection({ servers: '127.0.0.1:1', requestTimeout: 10_000 });
  await expect(examineCluster(nowhere, [])).rejects.toMatchObject({ code: 'OUTBOX_SERVER_UNAVAILABLE' });
});
