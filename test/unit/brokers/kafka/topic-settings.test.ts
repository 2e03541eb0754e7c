import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Brokers } from '../../../../src/brokers/kafka/transport/brokers.ts';
import { TopicSettings } from '../../../../src/brokers/kafka/transport/topic-settings.ts';
import { byNow, fakeTime, pass, realTime, soFar } from '../../../support/fixtures/fake-time.ts';

beforeEach(fakeTime);
afterEach(realTime);

/** Settings of topics on a broker that answers after 100 ms. */
function stage() {
  const asked: (readonly [string, string, readonly string[]])[] = [];
  const broker = { answer: new Map<string, string>(), away: false };
  const settings = async (...question: readonly [string, string, readonly string[]]) => {
    asked.push(question);
    await new Promise<void>((resolve) => setTimeout(resolve, 100));
    if (broker.away) throw new Error('no permission');
    return new Map(broker.answer);
  };
  const brokers = { any: async () => ({ settings }) } as unknown as Brokers;
  return { asked, broker, topics: new TopicSettings(brokers) };
}

const kafkaDefaults = { maxBytes: 1_048_588, gzip: false };

test('the first calls wait for one answer, and later ones use it for ten seconds', async () => {
  const { asked, broker, topics } = stage();
  broker.answer = new Map([
    ['max.message.bytes', '2000'],
    ['compression.type', 'gzip'],
  ]);
  const first = [soFar(topics.of('orders')), soFar(topics.of('orders'))];
  await pass(99);
  expect(first).toMatchObject([{ state: 'open' }, { state: 'open' }]);
  await pass(1);
  const setting = { maxBytes: 2_000, gzip: true };
  expect(first).toMatchObject([{ value: setting }, { value: setting }]);
  expect(asked).toEqual([['topic', 'orders', ['max.message.bytes', 'compression.type']]]);
  await pass(9_999);
  expect(await byNow(topics.of('orders'))).toEqual(setting);
  expect(asked).toHaveLength(1);
});

test('settings that are ten seconds old are read again once, and used until the answer arrives', async () => {
  const { asked, broker, topics } = stage();
  void topics.of('orders');
  await pass(10_100);
  broker.answer = new Map([['max.message.bytes', '3000']]);
  expect(await byNow(topics.of('orders'))).toEqual(kafkaDefaults);
  expect(await byNow(topics.of('orders'))).toEqual(kafkaDefaults);
  expect(asked).toHaveLength(2);
  const settled = soFar(topics.settled());
  await pass(99);
  expect(settled.state).toBe('open');
  await pass(1);
  expect(settled.state).toBe('resolved');
  expect(await byNow(topics.of('orders'))).toEqual({ maxBytes: 3_000, gzip: false });
});

test('settings that cannot be read stay as they were, or default to those of Kafka, and are read again after a second', async () => {
  const { asked, broker, topics } = stage();
  broker.away = true;
  const first = soFar(topics.of('orders'));
  await pass(100);
  expect(first.value).toEqual(kafkaDefaults);
  await pass(999);
  void topics.of('orders');
  expect(asked).toHaveLength(1);
  await pass(1);
  broker.away = false;
  broker.answer = new Map([['max.message.bytes', '2000']]);
  void topics.of('orders');
  await pass(10_100);
  broker.away = true;
  void topics.of('orders');
  await pass(100);
  expect(asked).toHaveLength(3);
  expect(await byNow(topics.of('orders'))).toEqual({ maxBytes: 2_000, gzip: false });
});

test.each(['', '0', '-1', 'many', '1.5'])(
  'a limit of "%s" is ignored, and the default applies',
  async (limit) => {
    const { broker, topics } = stage();
    broker.answer = new Map([
      ['max.message.bytes', limit],
      ['compression.type', 'producer'],
    ]);
    const read = soFar(topics.of('orders'));
    await pass(100);
    expect(read.value).toEqual(kafkaDefaults);
  },
);

test('each topic has settings of its own', async () => {
  const { asked, topics } = stage();
  void topics.of('orders');
  void topics.of('bills');
  await pass(100);
  expect(asked.map(([, address]) => address)).toEqual(['orders', 'bills']);
});
