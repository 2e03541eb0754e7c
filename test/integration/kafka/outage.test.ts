// @module-tag apart
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type LocalKafka, startKafka } from '../../../dev/servers/index.ts';
import { kafkaConnection } from '../../../src/brokers/kafka/transport/kafka-options.ts';
import { kafkaOver } from '../../../src/brokers/kafka/transport/kafka-transport.ts';
import type { Transport } from '../../../src/brokers/transport.ts';
import { type FaultWire, faultWire } from '../../support/faults/fault-wire.ts';
import { countKinds, outgoing, publishTo } from '../../support/fixtures/outgoing.ts';
import { until } from '../../support/fixtures/until.ts';
import { readTopic } from '../../support/kafka/kafka-reader.ts';
import { createTopic, observer, untilServed } from '../../support/kafka/kafka-topic.ts';
import { freeze } from '../../support/processes/frozen-process.ts';

let servers: LocalKafka;
let wire: FaultWire;
let transport: Transport;

beforeAll(async () => {
  const { KAFKA_BROKERS: _shared, ...env } = process.env;
  servers = await startKafka({ env });
});
afterAll(() => servers.stop());

beforeEach(async () => {
  wire = await faultWire();
  transport = kafkaOver(kafkaConnection({ servers: servers.brokers, requestTimeout: 1_000 }), wire.reach);
});
afterEach(async () => {
  await transport.close();
  await wire.close();
});

const client = () => observer(servers.brokers.join(','));

/** Publishes one message until it is acknowledged: a broker that has just begun may be slower than the transport waits. */
function untilAcknowledged(address: string, key: string): Promise<void> {
  return until(
    async () => countKinds(await publishTo(transport, address, [outgoing(key)]))['acknowledged'] === 1,
  );
}

/** A topic to which the transport has an open connection. */
async function topicInUse(): Promise<string> {
  const address = await createTopic(client());
  await untilAcknowledged(address, 'warm');
  return address;
}

async function stored(address: string): Promise<readonly string[]> {
  return (await readTopic(client(), address)).filter(({ key }) => key !== 'warm').map(({ id }) => id);
}

/** The broker may store a request after the transport has ceased to wait for its answer. */
async function expectStored(address: string, ids: readonly string[]): Promise<void> {
  await until(async () => (await stored(address)).length >= ids.length);
  expect(await stored(address)).toEqual(ids);
}

test('while the broker is stopped messages are deferred, and they are sent when it is back', {
  tags: ['inconclusive-may-be-stored'],
}, async () => {
  // Without the wire: it accepts connections while the broker does not.
  transport = kafkaOver(kafkaConnection({ servers: servers.brokers }));
  const address = await topicInUse();
  const messages = [outgoing('a'), outgoing('b'), outgoing(null)];
  const [node] = servers.nodes;
  await node?.stop();

  const down = await publishTo(transport, address, messages);
  await expect(transport.probe(address)).rejects.toMatchObject({ code: 'OUTBOX_SERVER_UNAVAILABLE' });
  await node?.start();
  await until(() => transport.probe(address).then(() => true), 60_000);
  await untilServed(client(), address);
  const up = await publishTo(transport, address, messages);

  expect(down.hold?.scope).toBe('transport');
  expect(down.outcomes).toEqual(messages.map(() => ({ kind: 'deferred', onWire: false })));
  expect(countKinds(up)).toEqual({ acknowledged: 3 });
  await expectStored(
    address,
    messages.map(({ id }) => id),
  );
});

test('messages in flight to a broker that freezes are deferred as possibly stored', async () => {
  const address = await topicInUse();
  const pid = servers.nodes[0]?.pid;
  if (pid === undefined) throw new Error('The broker does not run.');
  const result = await freeze(pid)
    .then(() => publishTo(transport, address, [outgoing('a')]))
    .finally(() => process.kill(pid, 'SIGCONT'));

  expect(result).toMatchObject({
    hold: { scope: 'transport' },
    outcomes: [{ kind: 'deferred', onWire: true }],
  });
  await until(() => transport.probe(address).then(() => true));
  await untilAcknowledged(address, 'a');
});

test('a batch of several chunks stops at the first failure, and only the chunk on the wire is possibly stored', async () => {
  const address = await topicInUse();
  const messages = Array.from({ length: 3_000 }, () => outgoing('a', 1_000));
  wire.set('drop-replies');

  const result = await publishTo(transport, address, messages);

  const onWire = result.outcomes.map((outcome) => outcome.kind === 'deferred' && outcome.onWire);
  const sent = onWire.lastIndexOf(true) + 1;
  expect(sent).toBeGreaterThan(500);
  expect(sent).toBeLessThan(1_100);
  expect(onWire.slice(0, sent).every(Boolean)).toBe(true);
  await expectStored(
    address,
    messages.slice(0, sent).map(({ id }) => id),
  );
});

test('a dead broker address next to a live one does no harm', async () => {
  const address = await topicInUse();
  const careful = kafkaOver(kafkaConnection({ servers: ['127.0.0.1:1', ...servers.brokers] }));

  await careful.probe(address);
  expect(countKinds(await publishTo(careful, address, [outgoing('a')]))).toEqual({ acknowledged: 1 });
  await careful.close();
});

test('a closed transport leaves no connection open, also after a failure', async () => {
  const address = await topicInUse();
  wire.set('drop-replies');
  await publishTo(transport, address, [outgoing('a')]);
  await expect(transport.probe(address)).rejects.toThrow(/./);
  wire.heal();
  await publishTo(transport, address, [outgoing('a')]);

  await transport.close();

  await until(() => wire.connections() === 0);
});
