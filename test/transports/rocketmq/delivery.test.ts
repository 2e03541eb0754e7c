import { expect, onTestFinished, test } from 'vitest';
import { type RocketmqOptions, rocketmq } from '../../../src/transports.ts';
import { until } from '../../support/fixtures/until.ts';
import { admin, newTopic, options } from './rocketmq-stage.ts';
import { batchOf, receiving } from './traffic.ts';

function transportOf(more: Partial<RocketmqOptions> = {}) {
  const transport = rocketmq({ ...options, ...more });
  onTestFinished(() => transport.close());
  return transport;
}

test('keys and headers that RocketMQ would refuse arrive unchanged', async () => {
  const address = await newTopic('FIFO', 4);
  const group = `${address}-group`;
  await admin.createGroup(group, true);
  const transport = transportOf();
  const keys = ['plain', 'x'.repeat(256), 'ž'.repeat(128), 'a\nb\u0001\u0085', ' ', null];
  const headers = { empty: '', lines: 'a\r\nb\u0001\u0002', percent: '50%', wait: 'x' };

  const { hold, outcomes } = await transport.publish(
    batchOf(address, ...keys.map((key) => ({ key, headers }))),
  );
  expect(hold).toBeUndefined();
  expect(outcomes.map(({ kind }) => kind)).toEqual(keys.map(() => 'acknowledged'));

  const member = await receiving(transport.source(), { addresses: [address], group });
  await until(() => member.arrived.length === keys.length);
  expect(new Set(member.arrived.map(({ key }) => key))).toEqual(new Set(keys));
  for (const message of member.arrived) expect(message.headers).toMatchObject(headers);
});

test('messages of other programs arrive with their message group as the key', async () => {
  const address = await newTopic('FIFO', 1);
  const group = `${address}-group`;
  await admin.createGroup(group, true);
  await admin.put(address, 0, {
    body: Buffer.from('theirs'),
    properties: { __SHARDINGKEY: 'order-7', color: 'red' },
  });

  const member = await receiving(transportOf().source(), { addresses: [address], group });
  await until(() => member.arrived.length === 1);
  expect(member.arrived[0]).toMatchObject({ key: 'order-7', headers: { color: 'red' } });
  expect(Buffer.from(member.arrived[0]?.body ?? []).toString()).toBe('theirs');
});

test('RocketMQ finds a message by its id, and its tag is the one from the option', async () => {
  const address = await newTopic('NORMAL', 1);
  const transport = transportOf({
    tag: ({ key }, topic) => (key === null ? undefined : `${topic === address}-${key}`),
  });

  await transport.publish(batchOf(address, { id: 'm-1', key: 'a' }, { id: 'm-2' }));

  const stored = await admin.read(address, 1);
  expect(stored.map(({ properties }) => [properties.get('KEYS'), properties.get('TAGS')])).toEqual(
    expect.arrayContaining([
      ['m-1', 'true-a'],
      ['m-2', undefined],
    ]),
  );
});

test.each([
  ['a tag that RocketMQ refuses', { key: 'bar', payload: '{}' }, /ILLEGAL_MESSAGE_TAG: tag cannot contain/],
  ['a tag that cannot be made', { key: 'throws', payload: '{}' }, /`tag` threw: Error: no tag/],
  ['a body that is too large', { payload: 'x'.repeat(5_000_000) }, /MESSAGE_BODY_TOO_LARGE: .* 4194304/],
  ['headers that are too many', { headers: { a: 'x'.repeat(20_000) } }, /MESSAGE_PROPERTIES_TOO_LARGE/],
])(
  'a message with %s is failed with the reason, and the other messages are delivered',
  async (_what, bad, reason) => {
    const address = await newTopic('NORMAL', 1);
    const tags: Readonly<Record<string, () => string>> = {
      bar: () => 'a|b',
      throws: () => {
        throw new Error('no tag');
      },
    };
    const transport = transportOf({ tag: ({ key }) => tags[key ?? '']?.() });

    const { outcomes, hold } = await transport.publish(batchOf(address, bad, { key: 'good' }));

    expect(outcomes).toEqual([
      { kind: 'permanent', error: expect.stringMatching(reason) },
      { kind: 'acknowledged', partition: null, offset: null },
    ]);
    expect(hold).toBeUndefined();
  },
);

test('a missing topic holds only its own messages until it exists', {
  tags: ['rocketmq-unacknowledged-is-unpublished'],
}, async () => {
  const address = `later-${Date.now()}`;
  const transport = transportOf();

  const { hold, outcomes } = await transport.publish(batchOf(address, {}));
  expect(outcomes).toEqual([{ kind: 'deferred', onWire: false }]);
  expect(hold).toEqual({ scope: 'topic', reason: expect.stringContaining(`TOPIC_NOT_FOUND`) });
  await expect(transport.probe(address)).rejects.toMatchObject({ code: 'OUTBOX_ADDRESS_MISSING' });

  await admin.createTopic(address, 'FIFO', 1);
  await until(() => transport.probe(address).then(() => true));
  expect((await transport.publish(batchOf(address, {}))).hold).toBeUndefined();
});

test('a topic of another type holds its messages, and the reason names the supported types', async () => {
  const address = await newTopic('DELAY', 1);
  const transport = transportOf();

  const { hold, outcomes } = await transport.publish(batchOf(address, {}));

  expect(outcomes).toEqual([{ kind: 'deferred', onWire: false }]);
  expect(hold).toEqual({
    scope: 'topic',
    reason: `The topic ${address} takes DELAY messages: create it with message.type=FIFO, or NORMAL.`,
  });
  await expect(transport.probe(address)).rejects.toThrow(/takes DELAY messages/);
});

test('a topic whose type changes is briefly on hold, then used with its new type', async () => {
  const address = await newTopic('NORMAL', 1);
  const transport = transportOf();
  await transport.publish(batchOf(address, { key: 'a' }));
  await admin.createTopic(address, 'FIFO', 1);

  const { hold } = await transport.publish(batchOf(address, { key: 'a' }));
  expect(hold).toMatchObject({
    scope: 'topic',
    reason: expect.stringContaining('expected type is FIFO, but actual type is NORMAL'),
  });
  await transport.probe(address);
  expect((await transport.publish(batchOf(address, { key: 'a' }))).hold).toBeUndefined();
});
