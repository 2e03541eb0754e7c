import { randomUUID } from 'node:crypto';
import { expect, inject, onTestFinished, test } from 'vitest';
import { type RabbitmqOptions, rabbitmq } from '../../../src/transports.ts';
import { linesOf, shownLines, shownMessage } from '../../support/fixtures/wire-page.ts';
import { batchOf, brokerAt, type TestBroker } from './broker.ts';

const url = inject('rabbitmqUrl');

async function stage(options: Partial<RabbitmqOptions> = {}) {
  const broker = await brokerAt();
  const transport = rabbitmq({ url, ...options });
  onTestFinished(async () => {
    await transport.close();
    await broker.close();
  });
  return { broker, transport, publish: batchOf(transport) };
}

function newName(what = 'orders'): string {
  return `${what}-${randomUUID().slice(0, 8)}`;
}

/** Of a quorum queue, the arguments besides its kind. */
async function queue(broker: TestBroker, name: string, args: object = {}): Promise<string> {
  await broker.channel.assertQueue(name, { arguments: { 'x-queue-type': 'quorum', ...args } });
  return name;
}

test('id, time, content type, key and headers arrive as docs/other-languages.md shows, and the message is persistent', async () => {
  const { broker, publish } = await stage();
  const address = await broker.exchange();

  await publish(address, shownMessage);

  const got = await broker.channel.get(address, { noAck: true });
  if (got === false) throw new Error('It is in the queue.');
  const { messageId, timestamp, contentType, deliveryMode, headers } = got.properties;
  // Quorum queues add `x-delivery-count`.
  const named = Object.entries(headers ?? {})
    .filter(([name]) => !name.startsWith('x-'))
    .map(([name, value]) => [`header ${name}`, value] as const);
  const shown = linesOf([
    ['routing key', got.fields.routingKey],
    ['message_id', messageId],
    ['timestamp', timestamp],
    ['content_type', contentType],
    ['delivery_mode', deliveryMode],
    ...named,
    ['body', got.content],
  ]);
  expect(shown).toEqual(shownLines('RabbitMQ'));
});

test('a message that no queue receives is rejected with the reason of the server, and the others are delivered', {
  tags: ['rabbitmq-unstored-is-unpublished'],
}, async () => {
  const { broker, publish } = await stage();
  const address = newName();
  await broker.channel.assertExchange(address, 'topic');
  await broker.channel.bindQueue(await queue(broker, address), address, 'a.*');

  const { outcomes } = await publish(address, { key: 'a.1' }, { key: 'b.1' }, { key: 'b.1' }, { key: 'a.2' });

  expect(outcomes.map(({ kind }) => kind)).toEqual(['acknowledged', 'rejected', 'blocked', 'acknowledged']);
  expect(outcomes[1]).toMatchObject({
    error: `312 NO_ROUTE: the exchange ${address} has no queue for the routing key "b.1".`,
  });
});

test('a message that an alternate exchange receives is acknowledged', async () => {
  const { broker, publish } = await stage();
  const other = await broker.exchange(newName('unwanted'));
  const address = newName();
  await broker.channel.assertExchange(address, 'topic', { alternateExchange: other });

  const { outcomes } = await publish(address, { key: 'b' });

  expect(outcomes).toEqual([{ kind: 'acknowledged', partition: null, offset: null }]);
  expect(await broker.read(other)).toHaveLength(1);
});

test('a message that a full queue refuses may be in others, and is accepted when there is room again', {
  tags: ['rabbitmq-unstored-is-unpublished'],
}, async () => {
  const { broker, publish } = await stage();
  const address = newName();
  await broker.channel.assertExchange(address, 'fanout');
  const full = await queue(broker, address, { 'x-max-length': 3, 'x-overflow': 'reject-publish' });
  await broker.channel.bindQueue(full, address, '');
  const one = (): Promise<string | undefined> =>
    publish(address, {}).then(({ outcomes }) => outcomes[0]?.kind);

  // It takes some more than its limit, until its leader has told.
  await expect.poll(one).toBe('ambiguous');
  const { outcomes } = await publish(address, {});

  expect(outcomes).toEqual([
    {
      kind: 'ambiguous',
      error: `A queue of ${address} refused it (nack): it may be full. Other queues may have it.`,
    },
  ]);
  await broker.read(address);
  await expect.poll(one).toBe('acknowledged');
});

test('the routing key comes from the function of the exchange, and a function that throws rejects its message', async () => {
  const address = newName();
  const { broker, publish } = await stage({
    exchanges: {
      [address]: {
        routingKey({ headers: { ce_type: type } }) {
          if (type === undefined) throw new Error('a message without a type');
          return type;
        },
      },
    },
  });
  await broker.exchange(address);

  const { outcomes } = await publish(address, { headers: { ce_type: 'order.placed' } }, { headers: {} });

  expect(outcomes).toMatchObject([
    { kind: 'acknowledged' },
    { kind: 'rejected', error: 'The routing key: a message without a type' },
  ]);
  expect(await broker.channel.get(address)).toMatchObject({ fields: { routingKey: 'order.placed' } });
});

test('a message that AMQP cannot carry is failed, and the others are delivered', async () => {
  const { broker, publish } = await stage();
  const address = await broker.exchange();

  const { outcomes } = await publish(address, { key: 'k'.repeat(256) }, { key: 'short' });

  expect(outcomes.map(({ kind }) => kind)).toEqual(['permanent', 'acknowledged']);
});

test('a missing exchange holds its topic, none of its messages counts as stored, and other topics continue', async () => {
  const { broker, publish, transport } = await stage();
  const address = newName();
  const other = await broker.exchange();

  const { hold, outcomes } = await publish(address, { key: 'a' }, { key: 'b' });

  expect(hold).toMatchObject({ scope: 'topic', reason: expect.stringContaining(`no exchange '${address}'`) });
  expect(outcomes).toEqual([
    { kind: 'deferred', onWire: false },
    { kind: 'deferred', onWire: false },
  ]);
  expect((await publish(other, {})).hold).toBeUndefined();
  await expect(transport.probe(address)).rejects.toMatchObject({ code: 'OUTBOX_ADDRESS_MISSING' });
  await broker.exchange(address);
  await transport.probe(address);
  expect((await publish(address, {})).hold).toBeUndefined();
});

test('an exchange deleted during a batch holds its topic, and unconfirmed messages may be stored', async () => {
  const { broker, publish } = await stage();
  const address = await broker.exchange();
  await publish(address, {});
  await broker.channel.deleteExchange(address);

  const { hold, outcomes } = await publish(address, { key: 'a' }, { key: 'b' });

  expect(hold?.scope).toBe('topic');
  expect(outcomes).toEqual([
    { kind: 'deferred', onWire: true },
    { kind: 'deferred', onWire: true },
  ]);
});

test('the server is named with its version', async () => {
  const transport = rabbitmq({ url });
  onTestFinished(() => transport.close());

  expect(await transport.server?.()).toMatch(/^RabbitMQ \d+\.\d+/);
});
