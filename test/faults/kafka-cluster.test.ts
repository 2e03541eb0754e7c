import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type LocalKafka, type LocalNode, startKafka } from '../../src/local/index.ts';
import { faultSeeds } from '../support/faults/fault-scale.ts';
import { kept } from '../support/fixtures/ledger.ts';
import { until } from '../support/fixtures/until.ts';
import { kafkaFaultFixture } from '../support/kafka/kafka-fault-fixture.ts';
import { createTopic, observer } from '../support/kafka/kafka-topic.ts';

const batch = 2_000;

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
  'I1 I3 I13 F12: of three brokers the leader may be killed, and with two gone messages wait and burn no attempt (seed %i)',
  { timeout: 500_000 },
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
