import { expect, onTestFinished, test } from 'vitest';
import { rocketmqConnection } from '../../../../src/brokers/rocketmq/transport/rocketmq-options.ts';
import { rocketmqOver } from '../../../../src/brokers/rocketmq/transport/rocketmq-transport.ts';
import type { OutgoingMessage, PublishResult } from '../../../../src/brokers/transport.ts';
import { drafted, publishTo } from '../../../support/fixtures/outgoing.ts';
import { scriptedRocketmq } from '../../../support/fixtures/scripted-rocketmq.ts';

async function stage(tag?: (message: OutgoingMessage, topic: string) => string | undefined, ms = 10_000) {
  const proxy = await scriptedRocketmq();
  proxy.topics.set('orders', { brokers: { a: [0] }, type: 'FIFO' });
  proxy.topics.set('bills', { brokers: { a: [0] }, type: 'NORMAL' });
  const transport = rocketmqOver(
    {
      servers: [proxy.endpoint],
      tls: false,
      brokerTls: false,
      credentials: undefined,
      nameServers: undefined,
      namespace: 'shop',
      requestTimeoutMs: ms,
      invisibleMs: 60_000,
    },
    tag,
  );
  onTestFinished(() => transport.close());
  const publish = (
    address: string,
    ...messages: readonly Partial<OutgoingMessage>[]
  ): Promise<PublishResult> => publishTo(transport, address, drafted(...messages));
  const asked = (method: string): number => proxy.calls.filter((name) => name === method).length;
  return { proxy, transport, publish, asked };
}

const acknowledged = { kind: 'acknowledged', partition: null, offset: null };
const unsent = { kind: 'deferred', onWire: false };
const maybeStored = { kind: 'deferred', onWire: true };

test('a route is queried once, and by every probe', async () => {
  const { asked, publish, transport } = await stage();

  await publish('orders', {});
  await publish('orders', {});
  const cached = asked('queryRoute');
  await transport.probe('orders');

  expect([cached, asked('queryRoute')]).toEqual([1, 2]);
  expect(await publish('orders')).toEqual({ outcomes: [] });
});

test('a reply that does not mention the message is ambiguous', async () => {
  const { proxy, publish } = await stage();
  proxy.mute.add('entry');

  const { outcomes } = await publish('orders', {});

  expect(outcomes).toEqual([
    { kind: 'ambiguous', error: 'CODE_UNSPECIFIED: The proxy answered nothing about the message.' },
  ]);
});

test('the endpoint for display has every proxy', () => {
  const connection = rocketmqConnection({ servers: ['a:1', 'b:2'] });

  expect(rocketmqOver(connection).endpoint).toBe('a:1,b:2');
});

test('a topic without a queue holds its messages, of which none was sent, until it has one', async () => {
  const { proxy, publish, transport } = await stage();
  proxy.topics.set('orders', { brokers: {}, type: 'FIFO' });
  const reason = 'The topic orders has no queue that takes messages.';

  expect(await publish('orders', {}, {})).toEqual({
    outcomes: [unsent, unsent],
    hold: { scope: 'topic', reason },
  });
  expect(proxy.sent).toEqual([]);
  await expect(transport.probe('orders')).rejects.toMatchObject({
    code: 'OUTBOX_SERVER_UNAVAILABLE',
    message: expect.stringContaining(reason),
  });
  proxy.topics.set('orders', { brokers: { a: [0] }, type: 'FIFO' });
  await expect(transport.probe('orders')).resolves.toBeUndefined();
});

test('the messages of a key use one proxy, other keys use others, and messages without order alternate', async () => {
  const { proxy, publish } = await stage();
  const other = await scriptedRocketmq();
  const brokers = { a: [0], b: [0] };
  const ports = { b: other.port };
  proxy.topics.set('orders', { brokers, ports, type: 'FIFO' });
  proxy.topics.set('bills', { brokers, ports, type: 'NORMAL' });
  const keysAt = ({ sent }: typeof proxy): ReadonlySet<string | undefined> =>
    new Set(sent.splice(0).map((message) => message.getSystemProperties()?.getMessageGroup()));

  await publish('orders', ...Array.from({ length: 32 }, (_, n) => ({ key: `k${n % 8}` })));
  const [here, there] = [keysAt(proxy), keysAt(other)];
  await publish('bills', {}, {}, {}, {});

  expect(here.size).toBeGreaterThan(0);
  expect(there.size).toBe(8 - here.size);
  expect([proxy.sent.length, other.sent.length]).toEqual([2, 2]);
});

test('after an ambiguous answer the topic is paused although its route is known, and other topics continue', async () => {
  const { asked, proxy, publish, transport } = await stage();
  proxy.refused.set('sendMessage', ['PROXY_TIMEOUT', 'of a broker']);

  const first = await publish('orders', {});
  proxy.refused.clear();
  const second = await publish('orders', {});

  expect(first).toEqual({
    outcomes: [maybeStored],
    hold: { scope: 'topic', reason: 'PROXY_TIMEOUT: of a broker' },
  });
  expect(second.outcomes).toEqual([unsent]);
  expect(second.hold?.reason).toMatch(/^orders left messages in doubt 1 times in a row.*PROXY_TIMEOUT/);
  expect(asked('sendMessage')).toBe(1);
  await expect(transport.probe('orders')).rejects.toThrow('left messages in doubt 1 times');
  expect((await publish('bills', {})).outcomes).toEqual([acknowledged]);
  await expect
    .poll(
      () =>
        transport.probe('orders').then(
          () => 'open',
          () => 'rests',
        ),
      { timeout: 20_000 },
    )
    .toBe('open');
  expect((await publish('orders', {})).outcomes).toEqual([acknowledged]);
  proxy.refused.set('sendMessage', ['PROXY_TIMEOUT', 'of a broker']);
  await publish('orders', {});
  // What was acknowledged in between has ended the row.
  expect((await publish('orders', {})).hold?.reason).toContain('1 times in a row');
});

test('a topic that refuses everything for now is not paused', async () => {
  const { proxy, publish, transport } = await stage();
  proxy.refused.set('sendMessage', ['TOO_MANY_REQUESTS', 'overloaded']);

  const { hold, outcomes } = await publish('orders', {});

  expect(outcomes).toEqual([unsent]);
  expect(hold).toEqual({ scope: 'topic', reason: 'TOO_MANY_REQUESTS: overloaded' });
  await expect(transport.probe('orders')).resolves.toBeUndefined();
});

test('a message for a FIFO topic has its key, or else its id, as its group, and everything else as written', async () => {
  const { proxy, publish, transport } = await stage(({ key }, topic) =>
    key === null ? undefined : `${topic}-tag`,
  );

  const { hold, outcomes } = await publish(
    'orders',
    { key: 'k', payload: 'é', headers: { ce_type: 'placed' } },
    { key: null },
  );

  expect(outcomes).toEqual([acknowledged, acknowledged]);
  expect(hold).toBeUndefined();
  const [first, second] = proxy.sent.toSorted((a) => (a.getSystemProperties()?.hasTag() === true ? -1 : 1));
  expect(first?.getTopic()?.toObject()).toEqual({ name: 'orders', resourceNamespace: 'shop' });
  expect(first?.getSystemProperties()?.toObject()).toMatchObject({
    messageId: 'm0',
    keysList: ['m0'],
    messageType: 2,
    bodyEncoding: 1,
    messageGroup: 'k',
    tag: 'orders-tag',
    bornHost: expect.stringMatching(/./),
    bornTimestamp: { seconds: expect.any(Number), nanos: expect.any(Number) },
  });
  expect(Buffer.from(first?.getBody_asU8() ?? []).toString()).toBe('é');
  expect(first?.getUserPropertiesMap().toObject()).toEqual(expect.arrayContaining([['ce_type', 'placed']]));
  expect(second?.getSystemProperties()?.toObject()).toMatchObject({ messageGroup: 'm1', tag: '' });
  expect(transport).toMatchObject({ name: 'rocketmq', endpoint: proxy.endpoint });
});
