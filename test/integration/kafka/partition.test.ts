// @module-tag apart
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type LocalKafka, startKafka } from '../../../dev/servers/index.ts';
import { kafka } from '../../../src/brokers/kafka/transport/kafka-transport.ts';
import { partitionOf } from '../../../src/brokers/partitioning.ts';
import type { TransportSubject } from '../../../src/testing/contract-subject.ts';
import { transportContract } from '../../../src/testing/transport-contract.ts';
import { countKinds, outgoing, publishTo } from '../../support/fixtures/outgoing.ts';
import { until } from '../../support/fixtures/until.ts';
import { readTopic } from '../../support/kafka/kafka-reader.ts';
import { createTopic, observer, untilServed } from '../../support/kafka/kafka-topic.ts';
import { freeze } from '../../support/processes/frozen-process.ts';

/** Partition 0 lives on broker 1, partition 1 on broker 2, and nowhere else. */
const replicaAssignment = [
  { partition: 0, replicas: [1] },
  { partition: 1, replicas: [2] },
];
const partitions = replicaAssignment.length;

let servers: LocalKafka;
beforeAll(async () => {
  const { KAFKA_BROKERS: _shared, ...env } = process.env;
  servers = await startKafka({ brokers: 2, env });
});
afterAll(() => servers.stop());

function twoBrokerTopic(): Promise<string> {
  return createTopic(observer(servers.brokers.join(',')), { replicaAssignment });
}

const messages = Array.from({ length: 60 }, (_, place) => outgoing(`key-${place % 20}`));
const kindsWithoutBroker2 = messages.map(({ key }) =>
  partitionOf(key ?? '', partitions) === 0 ? 'acknowledged' : 'deferred',
);

test('with one broker down messages of its partition are deferred and the other continues, for existing, new and other connections', async () => {
  const address = await twoBrokerTopic();
  const beside = await createTopic(observer(servers.brokers.join(',')), {
    replicaAssignment: [{ partition: 0, replicas: [1] }],
  });
  const known = kafka({ servers: servers.brokers });
  await publishTo(known, address, messages, { partitions });
  await publishTo(known, beside, [outgoing('a')]);
  await servers.nodes[1]?.stop('SIGKILL');

  const first = await publishTo(known, address, messages, { partitions });
  expect(first.outcomes.map(({ kind }) => kind)).toEqual(kindsWithoutBroker2);
  expect(first.hold?.scope).toBe('topic');
  await until(() => leaderless(address), 60_000);
  const fresh = kafka({ servers: servers.brokers });
  for (const transport of [known, fresh]) {
    const result = await publishTo(transport, address, messages, { partitions });
    expect(result.outcomes.map(({ kind }) => kind)).toEqual(kindsWithoutBroker2);
    expect(result.hold?.scope).toBe('topic');
    expect(result.outcomes.every((outcome) => outcome.kind !== 'deferred' || !outcome.onWire)).toBe(true);
    expect(countKinds(await publishTo(transport, beside, [outgoing('a')]))).toEqual({ acknowledged: 1 });
    await expect(transport.probe(address)).rejects.toThrow(/partition 1 has no leader/);
    await transport.probe(beside);
  }

  await servers.nodes[1]?.start();
  await until(() => known.probe(address).then(() => true), 60_000);
  await untilServed(observer(servers.brokers.join(',')), address);
  for (const transport of [known, fresh]) {
    expect(countKinds(await publishTo(transport, address, messages, { partitions }))).toEqual({
      acknowledged: 60,
    });
    await transport.close();
  }
});

async function leaderless(address: string): Promise<boolean> {
  const transport = kafka({ servers: servers.brokers });
  const reason = await transport.probe(address).then(String, String);
  await transport.close();
  return reason.includes('has no leader');
}

test('the contract holds for a partition whose broker is killed', async () => {
  const make = async (): Promise<TransportSubject> => {
    const client = observer(servers.brokers.join(','));
    const address = await twoBrokerTopic();
    const transport = kafka({ servers: servers.brokers });
    return {
      address,
      partitions,
      transport,
      read: () => readTopic(client, address),
      dispose: async () => {},
      faults: {
        failPartition: (partition) => servers.nodes[partition]?.stop('SIGKILL') ?? Promise.resolve(),
        async heal() {
          if (servers.nodes[1]?.pid === undefined) await servers.nodes[1]?.start();
          await until(() => transport.probe(address).then(() => true), 60_000);
          await untilServed(client, address);
        },
      },
    };
  };
  const cases = await transportContract(make);
  const partitionCase = cases.find(({ name }) => name === 'a failed partition defers only its own messages');
  await partitionCase?.run();
  expect(partitionCase).toBeDefined();
});

test('while a replica is frozen, a message in flight is in the log a few times, not once per timeout', {
  tags: ['duplicates-bounded'],
}, async () => {
  const client = observer(servers.brokers.join(','));
  const address = await createTopic(client, { replicaAssignment: [{ partition: 0, replicas: [1, 2] }] });
  const transport = kafka({ servers: servers.brokers, requestTimeout: 200 });
  const acknowledged = async (message: ReturnType<typeof outgoing>): Promise<boolean> => {
    // As a drain does: what is deferred is sent again when the topic answers a probe.
    await transport.probe(address);
    return countKinds(await publishTo(transport, address, [message]))['acknowledged'] === 1;
  };
  await until(() => acknowledged(outgoing('warm')));
  const pid = servers.nodes[1]?.pid;
  if (pid === undefined) throw new Error('The second broker does not run.');
  const message = outgoing('a');

  const frozenAt = performance.now();
  await freeze(pid);
  // Until the cluster gives the second broker up, after six seconds; then the leader is enough.
  await until(() => acknowledged(message), 60_000).finally(() => process.kill(pid, 'SIGCONT'));
  const frozenMs = performance.now() - frozenAt;

  const copies = (await readTopic(client, address)).filter(({ id }) => id === message.id).length;
  expect(frozenMs, 'the replica was missed for long enough').toBeGreaterThan(4_000);
  expect(copies).toBeGreaterThanOrEqual(4);
  expect(copies).toBeLessThanOrEqual(9);
  await transport.close();
});
