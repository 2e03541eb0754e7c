import { randomUUID } from 'node:crypto';
import { type Channel, type ChannelModel, connect, type Options } from 'amqplib';
import { inject } from 'vitest';
import type { DeliveredMessage } from '../../../src/testing.ts';
import type { OutgoingMessage, PublishResult, Transport } from '../../../src/transports.ts';

/** What tests do at a server besides the transport, with a client and connections of their own. */
export interface TestBroker {
  readonly url: string;
  readonly model: ChannelModel;
  readonly channel: Channel;
  /** Makes an exchange, and a quorum queue of the same name that gets everything. */
  exchange(name?: string, options?: Options.AssertExchange): Promise<string>;
  /** Takes everything out of a queue, in its order. */
  read(queue: string): Promise<readonly DeliveredMessage[]>;
  close(): Promise<void>;
}

export async function brokerAt(url: string = inject('rabbitmqUrl')): Promise<TestBroker> {
  const model = await connect(url);
  model.on('error', () => {});
  const channel = await model.createChannel();
  return {
    url,
    model,
    channel,
    async exchange(name = `orders-${randomUUID().slice(0, 8)}`, options = {}) {
      await channel.assertExchange(name, 'topic', options);
      await channel.assertQueue(name, { arguments: { 'x-queue-type': 'quorum' } });
      await channel.bindQueue(name, name, '#');
      return name;
    },
    read: (queue) => readAll(model, queue),
    close: () => model.close(),
  };
}

/** Publishes messages, of which only what matters is given, as one batch. */
export function batchOf(
  transport: Transport,
): (address: string, ...messages: readonly Partial<OutgoingMessage>[]) => Promise<PublishResult> {
  return (address, ...messages) =>
    transport.publish({
      address,
      partitions: 1,
      messages: messages.map((message) => ({
        id: randomUUID(),
        key: null,
        payload: '{}',
        headers: { 'content-type': 'application/json' },
        ...message,
      })),
      signal: new AbortController().signal,
    });
}

async function readAll(model: ChannelModel, queue: string): Promise<readonly DeliveredMessage[]> {
  const channel = await model.createChannel();
  const { messageCount } = await channel.checkQueue(queue);
  const messages: DeliveredMessage[] = [];
  while (messages.length < messageCount) {
    const got = await channel.get(queue, { noAck: true });
    if (got === false) break;
    const { content, properties } = got;
    const { 'outbox-key': key, ...headers } = properties.headers as Record<string, string>;
    messages.push({
      id: properties.messageId as string,
      key: key ?? null,
      payload: content.toString(),
      headers: { ...headers, 'content-type': properties.contentType as string },
      partition: null,
      offset: null,
    });
  }
  await channel.close();
  return messages;
}
