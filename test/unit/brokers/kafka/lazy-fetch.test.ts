import { createRequire } from 'node:module';
import { Kafka, logLevel } from 'kafkajs';
import { expect, test } from 'vitest';
import { memberOf } from '../../../../src/brokers/kafka/client/client-internals.ts';
import { fetchVersion } from '../../../../src/brokers/kafka/client/fetch-response.ts';
import { readLazily } from '../../../../src/brokers/kafka/client/lazy-fetch.ts';

const require = createRequire(import.meta.url);

interface Protocol {
  readonly request: { readonly apiVersion: number };
  readonly response: { readonly decode: (raw: Buffer) => Promise<unknown>; readonly parse: unknown };
}
type ProtocolOf = (options: { version: number }) => (options: object) => Protocol;
const fetches = require('kafkajs/src/protocol/requests/fetch') as { protocol: ProtocolOf };
const metadata = require('kafkajs/src/protocol/requests/metadata') as { protocol: ProtocolOf };

/** A connection of a client as its consumers get them, before it is open. It keeps what it is to send. */
async function connectionOf(kafka: Kafka): Promise<{ send(given: Protocol): Promise<Protocol> }> {
  const makes = Object.getOwnPropertySymbols(kafka).find(({ description }) =>
    description?.endsWith('createCluster'),
  );
  const cluster: unknown = Reflect.apply(memberOf(kafka, makes ?? '') as () => unknown, kafka, [{}]);
  const builder = memberOf(cluster, 'connectionPoolBuilder') as { build(): Promise<unknown> };
  const Connection = require('kafkajs/src/network/connection') as { prototype: object };
  const send = Reflect.get(Connection.prototype, 'send') as unknown;
  Reflect.set(Connection.prototype, 'send', async (given: Protocol) => given);
  try {
    const [connection] = memberOf(await builder.build(), 'pool') as [
      { send(given: Protocol): Promise<Protocol> },
    ];
    return connection;
  } finally {
    Reflect.set(Connection.prototype, 'send', send);
  }
}

const client = (): Kafka => new Kafka({ brokers: ['127.0.0.1:1'], logLevel: logLevel.NOTHING });
const empty = Buffer.alloc(14);

test('kafkajs requests no newer fetch version than is read here', () => {
  const { versions } = require('kafkajs/src/protocol/requests/fetch') as { versions: readonly string[] };
  expect(Math.max(...versions.map(Number))).toBe(fetchVersion);
});

test('a client that reads lazily decodes fetches of the newest version itself, and no other responses', {
  tags: ['read-as-kafkajs-reads'],
}, async () => {
  const lazy = await connectionOf(readLazily(client()));
  const fetched = fetches.protocol({ version: fetchVersion })({ topics: [] });
  const { response } = await lazy.send(fetched);
  expect(response.decode).not.toBe(fetched.response.decode);
  expect(response.parse).toBe(fetched.response.parse);
  expect(await response.decode(empty)).toEqual(await fetched.response.decode(empty));
  for (const other of [
    fetches.protocol({ version: fetchVersion - 1 })({ topics: [] }),
    metadata.protocol({ version: 6 })({ topics: [] }),
  ])
    expect((await lazy.send(other)).response).toBe(other.response);
});

test('a batch of an older format is decoded by kafkajs', { tags: ['read-as-kafkajs-reads'] }, async () => {
  const lazy = await connectionOf(readLazily(client()));
  const theirs = { decode: async () => 'decoded by kafkajs', parse: undefined };
  const fetched = fetches.protocol({ version: fetchVersion })({ topics: [] });
  const { response } = await lazy.send({ ...fetched, response: theirs });
  // One topic without a name, one partition, and a set of records that begins as those before Kafka 0.11.
  const raw = Buffer.concat([empty, Buffer.alloc(100)]);
  raw.writeInt32BE(1, 10);
  raw.writeInt32BE(1, 16);
  raw.writeInt32BE(52, 58);
  raw.writeInt32BE(40, 70);
  raw[78] = 1;
  expect(await response.decode(raw)).toBe('decoded by kafkajs');
});
