import { afterEach, expect, inject, test } from 'vitest';
import { kafka } from '../../../src/brokers/kafka/transport/kafka-transport.ts';
import { countKinds, outgoing, publishTo } from '../../support/fixtures/outgoing.ts';
import { createTopic, deleteTopic, observer, untilServed } from '../../support/kafka/kafka-topic.ts';

const brokers = inject('kafkaBrokers');
const client = observer(brokers);
/** A wait for a missing answer is long, so that no slowness of a machine is mistaken for one. */
const transport = kafka({ servers: brokers, requestTimeout: 60_000 });

afterEach(() => transport.close());

test('I15 F16: a deleted topic alone is on hold: another topic of the same transport continues without a pause', async () => {
  const healthy = await createTopic(client);
  const deleted = await createTopic(client);
  await publishTo(transport, healthy, [outgoing('a')]);
  await publishTo(transport, deleted, [outgoing('a')]);
  await deleteTopic(client, deleted);

  const lost = await publishTo(transport, deleted, [outgoing('a'), outgoing('b')]);
  const startMs = performance.now();
  const roundsMs: number[] = [];
  for (let round = 0; round < 20; round += 1) {
    const beganMs = performance.now();
    const [beside] = await Promise.all([
      publishTo(transport, healthy, [outgoing('a')]),
      publishTo(transport, deleted, [outgoing('a')]),
    ]);
    roundsMs.push(performance.now() - beganMs);
    expect(countKinds(beside)).toEqual({ acknowledged: 1 });
  }

  // Its first use makes the client ask for the metadata of all of its topics, the deleted one among them.
  const newcomer = await createTopic(client);
  expect(countKinds(await publishTo(transport, newcomer, [outgoing('a')]))).toEqual({ acknowledged: 1 });
  // A pause after each failure would be in every round, one that waits for an answer would be 60 s long.
  expect(Math.min(...roundsMs)).toBeLessThan(450);
  expect(performance.now() - startMs).toBeLessThan(30_000);
  // Whether they count as maybe stored depends on who said so: a broker does not prove it, the client's metadata does.
  expect(lost).toMatchObject({
    hold: { scope: 'topic' },
    outcomes: [{ kind: 'deferred' }, { kind: 'deferred' }],
  });
  await expect(transport.probe(healthy)).resolves.toBeUndefined();
  await expect(transport.probe(deleted)).rejects.toMatchObject({ code: 'OUTBOX_SERVER_UNAVAILABLE' });
});

test('a topic that never existed is on hold and not created, and is delivered to once it exists', async () => {
  const topic = `later-${crypto.randomUUID()}`;
  const messages = [outgoing('a'), outgoing('a')];

  const before = await publishTo(transport, topic, messages);
  await createNamed(topic);
  await untilServed(client, topic);
  await transport.probe(topic);
  const after = await publishTo(transport, topic, messages);

  expect(before).toMatchObject({ hold: { scope: 'topic' } });
  expect(countKinds(before)).toEqual({ deferred: 2 });
  expect(countKinds(after)).toEqual({ acknowledged: 2 });
});

async function createNamed(topic: string): Promise<void> {
  const admin = client.admin();
  await admin.connect();
  await expect(admin.listTopics()).resolves.not.toContain(topic);
  await admin.createTopics({ topics: [{ topic }], waitForLeaders: true });
  await admin.disconnect();
}
