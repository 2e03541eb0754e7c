import { gunzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import type { OutgoingMessage, PublishResult } from '../../../../src/brokers/transport.ts';
import { type KafkaOptions, kafka } from '../../../../src/transports.ts';
import { drafted, publishTo } from '../../../support/fixtures/outgoing.ts';
import { scriptedKafka } from '../../../support/kafka/scripted-kafka.ts';

const soon = { timeout: 20_000, interval: 5 };

async function stage(options: Partial<KafkaOptions> = {}) {
  const broker = await scriptedKafka();
  broker.topics.set('orders', [1, 1, 1]);
  const transport = kafka({ servers: broker.address, requestTimeout: 10_000, ...options });
  onTestFinished(() => transport.close());
  const publish = (...messages: readonly Partial<OutgoingMessage>[]): Promise<PublishResult> =>
    send('orders', 1, messages);
  const send = (address: string, partitions: number, messages: readonly Partial<OutgoingMessage>[]) =>
    publishTo(transport, address, drafted(...messages), { partitions });
  const asked = (name: string): number => broker.calls.filter((one) => one === name).length;
  return { broker, transport, publish, send, asked };
}

const unsent = { kind: 'deferred', onWire: false };
const maybeStored = { kind: 'deferred', onWire: true };
const stored = (partition: number, offset: number) => ({
  kind: 'acknowledged',
  partition,
  offset: `${offset}`,
});

test('a batch is stored by its leader, which waits for its replicas, and each message gets its offset', async () => {
  const { asked, broker, publish, transport } = await stage();
  broker.answer = () => ({ baseOffset: 9_007_199_254_740_993n });

  const { hold, outcomes } = await publish({ payload: 'first' }, { payload: 'second' });

  expect(hold).toBeUndefined();
  expect(outcomes).toEqual([
    { kind: 'acknowledged', partition: 0, offset: '9007199254740993' },
    { kind: 'acknowledged', partition: 0, offset: '9007199254740994' },
  ]);
  expect(broker.produced).toMatchObject([{ topic: 'orders', partition: 0, acks: -1, timeoutMs: 10_000 }]);
  expect(broker.produced[0]?.records.toString('latin1')).toMatch(/first.*second/s);
  await publish({});
  expect([asked('metadata'), asked('configs'), asked('produce')]).toEqual([1, 1, 2]);
  expect(broker.connections().ever).toBe(1);
  expect(
    await transport.publish({ address: 'orders', partitions: 1, messages: [], signal: AbortSignal.abort() }),
  ).toEqual({
    outcomes: [],
  });
});

test('batches of several partitions and topics share a request, and each gets its own answer', async () => {
  const { broker, send } = await stage();
  broker.topics.set('bills', [1]);
  broker.answer = ({ partition, topic }) => ({
    baseOffset: topic === 'bills' ? 7n : BigInt(10 * partition),
    code: topic === 'orders' && partition === 1 ? 17 : 0,
  });
  const keys = Array.from({ length: 12 }, (_, n) => ({ key: `k${n}` }));
  await Promise.all([send('orders', 3, [{ key: 'warm' }]), send('bills', 1, [{}])]);

  const [orders, bills] = await Promise.all([send('orders', 3, keys), send('bills', 1, [{}])]);

  expect(bills.outcomes).toEqual([stored(0, 7)]);
  expect(orders.hold).toMatchObject({
    scope: 'topic',
    reason: expect.stringContaining('INVALID_TOPIC_EXCEPTION'),
  });
  const offsets = orders.outcomes.flatMap((one) =>
    one.kind === 'acknowledged' ? `${one.partition}/${one.offset}` : [],
  );
  expect(offsets).toEqual(expect.arrayContaining(['0/0', '0/1', '2/20']));
  expect(orders.outcomes).toContainEqual(unsent);
});

test('the error has the text of a refused record, preceded by the message of the whole batch', async () => {
  const { broker, publish } = await stage();
  broker.answer = () => ({ code: 87, records: [null, 'no key'] });
  const of = async (): Promise<unknown> => (await publish({})).outcomes[0];

  expect(await of()).toMatchObject({ kind: 'permanent', error: expect.stringContaining('no key') });
  broker.answer = () => ({ code: 87, records: ['no key'], message: 'not compacted' });
  expect(await of()).toMatchObject({ kind: 'permanent', error: expect.stringMatching(/not compacted/) });
});

test('each partition is sent to its own leader, which is looked up again after a refusal that may come from a move', async () => {
  const { asked, broker, publish } = await stage();
  const other = await scriptedKafka();
  broker.brokers.set(2, other.port);
  broker.topics.set('orders', [2]);

  expect((await publish({})).outcomes).toEqual([stored(0, 100)]);
  expect([broker.produced.length, other.produced.length]).toEqual([0, 1]);
  other.answer = () => ({ code: 19 });
  expect((await publish({})).outcomes).toEqual([unsent]);
  broker.topics.set('orders', [1]);
  const before = asked('metadata');
  expect((await publish({})).outcomes).toEqual([stored(0, 100)]);

  expect(asked('metadata')).toBe(before + 1);
  expect([broker.produced.length, other.produced.length]).toEqual([1, 2]);
});

test('a topic without a leader holds its messages and sends none', async () => {
  const { broker, publish, transport } = await stage();
  broker.topics.set('orders', [-1, 1, -1]);

  const { hold, outcomes } = await publish({});

  expect(outcomes).toEqual([unsent]);
  expect(hold).toEqual({
    scope: 'topic',
    reason: 'Partition 0 of topic orders has no leader now, does not exist or may not be written to.',
  });
  await expect(transport.probe('orders')).rejects.toMatchObject({
    code: 'OUTBOX_SERVER_UNAVAILABLE',
    message: 'Kafka topic orders: partition 0, 2 has no leader.',
    details: { address: 'orders' },
  });
  expect(await transport.partitionCount?.('orders')).toBe(3);
  broker.topics.set('orders', [1]);
  await expect(transport.probe('orders')).resolves.toBeUndefined();
  expect((await publish({})).outcomes).toEqual([stored(0, 100)]);
});

test('a probe reports a missing topic over a connection of its own', async () => {
  const { broker, transport } = await stage();

  await expect(transport.probe('gone')).rejects.toThrow(
    'Kafka topic gone: it does not exist or may not be used.',
  );
  await expect(transport.partitionCount?.('gone')).rejects.toMatchObject({
    code: 'OUTBOX_SERVER_UNAVAILABLE',
  });

  expect(broker.connections().ever).toBe(2);
  await expect.poll(() => broker.connections().open, soon).toBe(0);
});

test('a request without an answer may be stored, and the next one uses another connection', async () => {
  const { broker, publish } = await stage({ requestTimeout: 1_000 });
  await publish({});
  broker.mute.add('produce');

  const { hold, outcomes } = await publish({});
  broker.mute.clear();

  expect(outcomes).toEqual([maybeStored]);
  expect(hold?.reason).toBe(`${broker.address} did not answer within 1000 ms.`);
  await expect.poll(() => publish({}).then(({ outcomes: [one] }) => one?.kind), soon).toBe('acknowledged');
  expect(broker.connections().ever).toBe(2);
});

test('an answer for another partition does not count', async () => {
  const { broker, publish } = await stage();
  broker.answer = () => ({ partition: 5 });

  expect(await publish({})).toMatchObject({
    outcomes: [maybeStored],
    hold: { scope: 'topic', reason: `${broker.address} answered for another partition.` },
  });
});

test('a lost connection leaves its request in doubt, and an address without a server sends nothing', async () => {
  const { broker, publish } = await stage();
  await publish({});
  broker.mute.add('produce');
  const publishing = publish({});
  await expect.poll(() => broker.produced.length, soon).toBe(2);

  broker.cut();

  expect(await publishing).toMatchObject({ outcomes: [maybeStored], hold: { scope: 'transport' } });
  const nowhere = kafka({ servers: ['127.0.0.1:1', '127.0.0.1:2'], requestTimeout: 10_000 });
  const { hold, outcomes } = await nowhere.publish({
    address: 'orders',
    partitions: 1,
    messages: [{ id: 'm', key: null, payload: '', headers: {} }],
    signal: new AbortController().signal,
  });
  await nowhere.close();
  expect(outcomes).toEqual([unsent]);
  expect(hold).toMatchObject({
    scope: 'transport',
    reason: expect.stringMatching(/127\.0\.0\.1:1.*127\.0\.0\.1:2/),
  });
});

test('after a quota is exceeded nothing is sent until its time is over, or nothing at all if that is too long', async () => {
  const { broker, publish } = await stage({ requestTimeout: 2_000 });
  broker.throttledMs = 500;
  await publish({});
  const fromMs = performance.now();
  broker.throttledMs = 60_000;

  expect((await publish({})).outcomes).toEqual([stored(0, 100)]);
  expect(performance.now() - fromMs).toBeGreaterThanOrEqual(200);
  const { hold, outcomes } = await publish({});

  expect(outcomes).toEqual([unsent]);
  expect(hold?.reason).toMatch(/takes nothing from this client for \d+ s, because of a quota\.$/);
  expect(broker.produced).toHaveLength(2);
});

test('a batch is no larger than its topic allows, and compressed as its topic stores it', async () => {
  const { broker, publish } = await stage();
  broker.configs.set('orders', { 'max.message.bytes': '1000', 'compression.type': 'gzip' });
  const messages = Array.from({ length: 4 }, () => ({ payload: 'x'.repeat(400) }));

  const { outcomes } = await publish(...messages);

  expect(outcomes.map(({ kind }) => kind)).toEqual(messages.map(() => 'acknowledged'));
  expect(broker.produced.length).toBeGreaterThan(1);
  for (const { records } of broker.produced) {
    // The lowest bits of its attributes name the codec.
    expect(records.readInt16BE(21) % 8).toBe(1);
    expect(gunzipSync(records.subarray(61)).toString()).toContain('x'.repeat(400));
  }
});

test.each([
  ['may not be read', undefined],
  ['make no sense', { 'max.message.bytes': '0', 'compression.type': 'producer' }],
])('settings that %s default to those of Kafka', async (_what, settings) => {
  const { broker, publish } = await stage();
  if (settings !== undefined) broker.configs.set('orders', settings);

  await publish(...Array.from({ length: 4 }, () => ({ payload: 'x'.repeat(250_000) })));

  expect(broker.produced).toHaveLength(1);
  expect((broker.produced[0]?.records.readInt16BE(21) ?? 1) % 8).toBe(0);
});

test('closing waits for messages being sent and ends all connections; the transport can then be used again', async () => {
  const { broker, publish, transport } = await stage({ requestTimeout: 1_000 });
  await publish({});
  broker.mute.add('produce');
  const publishing = publish({});
  await expect.poll(() => broker.produced.length, soon).toBe(2);

  await transport.close();
  broker.mute.clear();

  expect((await Promise.race([publishing, Promise.resolve(undefined)]))?.outcomes).toEqual([maybeStored]);
  await expect.poll(() => broker.connections().open, soon).toBe(0);
  await expect.poll(() => publish({}).then(({ outcomes: [one] }) => one?.kind), soon).toBe('acknowledged');
});
