import { setTimeout as delay } from 'node:timers/promises';
import type { Producer } from 'kafkajs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type LocalKafka, type LocalNode, startKafka } from '../../dev/servers/index.ts';
import { kafkaTransport } from '../../src/brokers/kafka/transport/kafka-transport.ts';
import { faultSeeds } from '../support/faults/fault-scale.ts';
import { kept } from '../support/fixtures/ledger.ts';
import { until } from '../support/fixtures/until.ts';
import { kafkaFaultFixture } from '../support/kafka/kafka-fault-fixture.ts';
import { readTopic } from '../support/kafka/kafka-reader.ts';
import { createTopic, observer, untilServed } from '../support/kafka/kafka-topic.ts';
import { judge, keyStreams, publishAll } from '../support/kafka/key-streams.ts';
import { assignment, moveLeaders } from '../support/kafka/moving-leaders.ts';

const batch = 2_000;
const partitions = 6;

let kafka: LocalKafka;
beforeAll(async () => {
  kafka = await startKafka({ brokers: 3, env: { ...process.env, KAFKA_BROKERS: '' } });
});
afterAll(() => kafka.stop());

function broker(id: number): LocalNode {
  const found = kafka.nodes.find((node) => node.id === id);
  if (found === undefined) throw new Error('This test breaks brokers, so they have to be its own.');
  return found;
}

async function leaderOf(address: string): Promise<number> {
  const admin = observer(broker(1).address).admin();
  await admin.connect();
  const { topics } = await admin.fetchTopicMetadata({ topics: [address] });
  await admin.disconnect();
  return topics[0]?.partitions[0]?.leader ?? -1;
}

test.for(faultSeeds(12))(
  'I1 I3 I13 F12: the leader of three brokers may be killed, and with two gone messages wait and use up no attempt (seed %i)',
  { tags: ['no-loss'], timeout: 500_000 },
  async (seed, context) => {
    const client = observer(kafka.brokers.join(','));
    // The first broker is the controller, and stays.
    const address = await createTopic(client, {
      replicaAssignment: [{ partition: 0, replicas: [2, 3, 1] }],
      configEntries: [{ name: 'min.insync.replicas', value: '2' }],
    });
    const fixture = await kafkaFaultFixture(context, { kafka, seed, address });
    const relay = await fixture.stage.relay();
    await fixture.untilSettled(100);
    await until(async () => (await leaderOf(address)) === 2);

    await broker(2).stop('SIGKILL');
    await fixture.untilSettled(200, 120_000);
    await until(async () => (await leaderOf(address)) !== 2);

    await broker(3).stop('SIGKILL');
    const count = (type: 'hold-began' | 'hold-ended'): number =>
      relay.events.filter((event) => event.type === type).length;
    await until(() => count('hold-began') > count('hold-ended'), 120_000);
    const during = await fixture.settled();
    await delay(2_000);
    expect(await fixture.settled(), 'one replica of the two that are asked for is not enough').toBe(during);

    await Promise.all([broker(2).start(), broker(3).start()]);
    await fixture.untilSettled(200, 120_000);
    const { verdict, repeats, attempts } = await fixture.finish();
    expect(verdict).toEqual(kept);
    expect(repeats).toBeLessThanOrEqual(2 * batch);
    expect(attempts).toBe(0);
  },
);

/** As a service does that sends by kafkajs alone: what `send` resolves for counts as sent. */
async function sendAlone(
  producer: Producer,
  topic: string,
  more: () => boolean,
  promised: Set<string>,
): Promise<void> {
  const next = keyStreams(60);
  while (more()) {
    const sent = next();
    const messages = sent.map(({ key, payload, headers }) => ({
      key,
      value: payload,
      headers: { ...headers },
    }));
    const resolved = await producer.send({ topic, messages }).then(
      () => true,
      () => false,
    );
    if (resolved) for (const { id } of sent) promised.add(id);
  }
}

test('I1 I3 F12: leaders that move under load lose nothing and reorder no key, where kafkajs alone loses messages', {}, async ({
  onTestFinished,
}) => {
  const client = observer(kafka.brokers.join(','));
  const replicaAssignment = assignment(partitions);
  const [ours, theirs] = [
    await createTopic(client, { replicaAssignment }),
    await createTopic(client, { replicaAssignment }),
  ];
  const admin = client.admin();
  const producer = client.producer({ allowAutoTopicCreation: false });
  const transport = kafkaTransport({ servers: kafka.brokers });
  await Promise.all([admin.connect(), producer.connect()]);
  onTestFinished(async () => {
    await Promise.all([admin.disconnect(), producer.disconnect(), transport.close()]);
  });
  let moving = true;

  const byUs = keyStreams(60);
  const sent = new Set<string>();
  const publishing = publishAll(transport, ours, partitions, () => (moving ? byUs() : undefined), sent);
  const promised = new Set<string>();
  const alone = sendAlone(producer, theirs, () => moving, promised);
  const logOf = async (topic: string) => {
    // The leaders that an older client has cached are out of date.
    const reader = observer(kafka.brokers.join(','));
    await untilServed(reader, topic);
    return readTopic(reader, topic);
  };
  const lostByThem = async (): Promise<number> => judge(promised, await logOf(theirs)).lost;
  for (let moves = 1; moves <= 4 || (moves <= 20 && (await lostByThem()) === 0); moves += 1) {
    await moveLeaders(admin, [ours, theirs], partitions, moves);
    const before = sent.size;
    await until(() => sent.size > before + 600, 60_000);
  }
  moving = false;
  await Promise.all([publishing, alone]);

  expect(judge(sent, await logOf(ours))).toEqual({ lost: 0, disordered: [] });
  expect(await lostByThem(), 'what kafkajs says that it has sent').toBeGreaterThan(0);
});
