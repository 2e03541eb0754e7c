import kafkajs from 'kafkajs';
import { afterEach, expect, inject, test } from 'vitest';
import { kafka } from '../../../src/brokers/kafka/transport/kafka-transport.ts';
import { countKinds, outgoing, publishTo } from '../../support/fixtures/outgoing.ts';
import { until } from '../../support/fixtures/until.ts';
import { readTopic } from '../../support/kafka/kafka-reader.ts';
import { createTopic, observer } from '../../support/kafka/kafka-topic.ts';

const brokers = inject('kafkaBrokers');
const client = observer(brokers);
const transport = kafka({ servers: brokers });
const topicResource = kafkajs.ConfigResourceTypes.TOPIC;

afterEach(() => transport.close());

test('publishes that share a request store every message once, each publish in order', {
  tags: ['no-loss'],
}, async () => {
  const topic = { numPartitions: 3 };
  const addresses = await Promise.all([createTopic(client, topic), createTopic(client, topic)]);
  const batches = Array.from({ length: 40 }, () =>
    Array.from({ length: 9 }, (_, place) => outgoing(`key-${place % 3}`)),
  );

  const results = await Promise.all(
    batches.map((messages, index) =>
      publishTo(transport, addresses[index % 2] ?? '', messages, { partitions: 3 }),
    ),
  );

  expect(results.map(countKinds)).toEqual(batches.map(() => ({ acknowledged: 9 })));
  for (const [index, address] of addresses.entries()) {
    const stored = await readTopic(client, address);
    const sent = batches.filter((_, batch) => batch % 2 === index);
    expect(stored.map(({ id }) => id).toSorted()).toEqual(
      sent
        .flat()
        .map(({ id }) => id)
        .toSorted(),
    );
    for (const messages of sent) {
      const ids = new Set(messages.map(({ id }) => id));
      const key = (name: string) => (message: { readonly key: string | null }) => message.key === name;
      for (const name of ['key-0', 'key-1', 'key-2'])
        expect(
          stored
            .filter(({ id }) => id !== null && ids.has(id))
            .filter(key(name))
            .map(({ id }) => id),
        ).toEqual(messages.filter(key(name)).map(({ id }) => id));
    }
  }
});

test('two topics whose batches share requests each get their own answers', async () => {
  const open = await createTopic(client);
  const narrow = await createTopic(client, {
    configEntries: [{ name: 'max.message.bytes', value: '300' }],
  });
  await publishTo(transport, open, [outgoing('a')]);
  const sends = Array.from({ length: 40 }, (_, n) => ({
    address: n % 2 === 0 ? open : narrow,
    message: outgoing('a', 2_000),
  }));

  const results = await Promise.all(
    sends.map(({ address, message }) => publishTo(transport, address, [message])),
  );

  const outcomes = results.map((result, n) => ({ ...sends[n], outcome: result.outcomes[0] }));
  const of = (topic: string) => outcomes.filter(({ address }) => address === topic);
  expect(of(narrow).map(({ outcome }) => outcome?.kind)).toEqual(of(narrow).map(() => 'permanent'));
  expect(await readTopic(client, narrow)).toEqual([]);
  const stored = new Map(
    (await readTopic(client, open)).map(({ id, partition, offset }) => [id, { partition, offset }]),
  );
  for (const { message, outcome } of of(open))
    expect(outcome).toEqual({ kind: 'acknowledged', ...stored.get(message?.id ?? '') });
});

test('a limit lowered while batches are sent refuses no message that fits alone', async () => {
  const address = await createTopic(client);
  await publishTo(transport, address, [outgoing('one')]);
  await setLimit(address, 20_000);
  const messages = Array.from({ length: 300 }, () => outgoing('one', 600));

  const result = await publishTo(transport, address, messages);

  expect(countKinds(result)).toEqual({ acknowledged: 300 });
  expect((await readTopic(client, address)).slice(1).map(({ id }) => id)).toEqual(
    messages.map(({ id }) => id),
  );
});

test('I15 F16: a message too large by itself becomes permanent, its followers are blocked and its neighbours are sent', async () => {
  const address = await createTopic(client, {
    configEntries: [{ name: 'max.message.bytes', value: '5000' }],
  });
  const messages = Array.from({ length: 40 }, (_, place) =>
    outgoing(`key-${place % 4}`, place === 9 ? 6_000 : 100),
  );

  const result = await publishTo(transport, address, messages);

  expect(result.outcomes[9]).toMatchObject({ kind: 'permanent', error: expect.stringMatching(/TOO_LARGE/) });
  expect(countKinds(result)).toEqual({ acknowledged: 32, permanent: 1, blocked: 7 });
  expect(await readTopic(client, address)).toHaveLength(32);
});

test('a message without a key is permanent in a compacted topic, and the others are sent', async () => {
  const address = await createTopic(client, {
    configEntries: [{ name: 'cleanup.policy', value: 'compact' }],
  });
  const messages = [outgoing('a'), outgoing(null), outgoing('b'), outgoing('a')];

  const result = await publishTo(transport, address, messages);

  expect(result.outcomes.map(({ kind }) => kind)).toEqual([
    'acknowledged',
    'permanent',
    'acknowledged',
    'acknowledged',
  ]);
});

test('partitions added after the first batch are used at once', async () => {
  const address = await createTopic(client);
  await publishTo(transport, address, [outgoing('a')]);
  const admin = client.admin();
  await admin.connect();
  await admin.createPartitions({ topicPartitions: [{ count: 3, topic: address }] });
  await until(async () => (await admin.fetchTopicOffsets(address)).length === 3);
  await admin.disconnect();
  const messages = Array.from({ length: 30 }, (_, place) => outgoing(`key-${place}`));

  const result = await publishTo(transport, address, messages, { partitions: 3 });

  expect(countKinds(result)).toEqual({ acknowledged: 30 });
  expect(await transport.partitionCount?.(address)).toBe(3);
});

async function setLimit(topic: string, bytes: number): Promise<void> {
  const admin = client.admin();
  await admin.connect();
  const configEntries = [{ name: 'max.message.bytes', value: String(bytes) }];
  await admin.alterConfigs({
    resources: [{ configEntries, name: topic, type: topicResource }],
    validateOnly: false,
  });
  await until(async () => {
    const answer = await admin.describeConfigs({
      includeSynonyms: false,
      resources: [{ configNames: ['max.message.bytes'], name: topic, type: topicResource }],
    });
    return answer.resources[0]?.configEntries[0]?.configValue === String(bytes);
  });
  await admin.disconnect();
}
