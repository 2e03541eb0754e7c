import { expect, onTestFinished, test } from 'vitest';
import { type KafkaOptions, kafka } from '../../../../src/transports.ts';
import { drafted, publishTo } from '../../../support/fixtures/outgoing.ts';
import { scriptedKafka } from '../../../support/kafka/scripted-kafka.ts';

async function stage(options: Partial<KafkaOptions> = {}) {
  const broker = await scriptedKafka();
  broker.topics.set('orders', [1]);
  const transport = kafka({ servers: broker.address, requestTimeout: 10_000, ...options });
  onTestFinished(() => transport.close());
  return { broker, transport, publish: () => publishTo(transport, 'orders', drafted({})) };
}

const unsent = { kind: 'deferred', onWire: false };
const maybeStored = { kind: 'deferred', onWire: true };
const stored = { kind: 'acknowledged', partition: 0, offset: '100' };

test('the error has the text of a refused record, preceded by the message of the whole batch', async () => {
  const { broker, publish } = await stage();
  broker.answer = () => ({ code: 87, records: [null, 'no key'] });
  const of = async (): Promise<unknown> => (await publish()).outcomes[0];

  expect(await of()).toMatchObject({ kind: 'permanent', error: expect.stringContaining('no key') });
  broker.answer = () => ({ code: 87, records: ['no key'], message: 'not compacted' });
  expect(await of()).toMatchObject({ kind: 'permanent', error: expect.stringMatching(/not compacted/) });
});

test('an answer for another partition does not count', async () => {
  const { broker, publish } = await stage();
  broker.answer = () => ({ partition: 5 });

  expect(await publish()).toMatchObject({
    outcomes: [maybeStored],
    hold: { scope: 'topic', reason: `${broker.address} answered for another partition.` },
  });
});

test('after a quota is exceeded nothing is sent until its time is over, or nothing at all if that is too long', async () => {
  const { broker, publish } = await stage({ requestTimeout: 2_000 });
  broker.throttledMs = 500;
  await publish();
  const fromMs = performance.now();
  broker.throttledMs = 60_000;

  expect((await publish()).outcomes).toEqual([stored]);
  expect(performance.now() - fromMs).toBeGreaterThanOrEqual(200);
  const { hold, outcomes } = await publish();

  expect(outcomes).toEqual([unsent]);
  expect(hold?.reason).toMatch(/takes nothing from this client for \d+ s, because of a quota\.$/);
  expect(broker.produced).toHaveLength(2);
});

test('a topic without a leader holds its messages, names the partition, and sends none', async () => {
  const { broker, publish, transport } = await stage();
  broker.topics.set('orders', [-1]);

  const { hold, outcomes } = await publish();

  expect(outcomes).toEqual([unsent]);
  expect(hold).toEqual({
    scope: 'topic',
    reason: 'Partition 0 of topic orders has no leader now, does not exist or may not be written to.',
  });
  expect(broker.produced).toEqual([]);
  broker.topics.set('orders', [1]);
  await expect(transport.probe('orders')).resolves.toBeUndefined();
  expect((await publish()).outcomes).toEqual([stored]);
});

test('a request without an answer may be stored, and the next one uses another connection', async () => {
  const { broker, publish } = await stage({ requestTimeout: 500 });
  await publish();
  broker.mute.add('produce');

  const { hold, outcomes } = await publish();
  broker.mute.clear();

  expect(outcomes).toEqual([maybeStored]);
  expect(hold?.reason).toBe(`${broker.address} did not answer within 500 ms.`);
  const next = async (): Promise<unknown> => (await publish()).outcomes[0]?.kind;
  await expect.poll(next, { timeout: 20_000, interval: 5 }).toBe('acknowledged');
  expect(broker.connections().ever).toBe(2);
});
