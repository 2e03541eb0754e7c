import { EventEmitter } from 'node:events';
import type { ChannelModel, ConsumeMessage } from 'amqplib';
import { expect, test } from 'vitest';
import { Link } from '../../../src/rabbitmq/link.ts';
import { consume, openQueue } from '../../../src/sources/rabbitmq/open-queue.ts';

/** A channel of a server that does what it is asked for, and can cancel consumers. */
class ScriptedChannel extends EventEmitter {
  closed = false;
  cancel: () => void = () => undefined;
  readonly #missing: () => boolean;

  constructor(missing: () => boolean) {
    super();
    this.#missing = missing;
  }

  async checkQueue(): Promise<{ messageCount: number }> {
    if (this.#missing()) throw Object.assign(new Error('NOT_FOUND - no queue'), { code: 404 });
    return { messageCount: 0 };
  }

  async prefetch(): Promise<void> {}

  async consume(_queue: string, told: (message: ConsumeMessage | null) => void): Promise<void> {
    this.cancel = () => told(null);
  }

  async close(): Promise<void> {
    this.closed = true;
    this.emit('close');
  }
}

/** What RabbitMQ before 4.3 does only when a queue is deleted, and no server that runs here otherwise. */
test.each([
  ['that is still there', false, /canceled the consumer of the queue orders\.g: .*consumer_timeout/],
  ['that was deleted', true, /The queue orders\.g was deleted\./],
])('a canceled consumer of a queue %s closes its channel, and says why', async (_which, deleted, reason) => {
  let missing = false;
  const channels: ScriptedChannel[] = [];
  const model = Object.assign(new EventEmitter(), {
    connection: { serverProperties: { product: 'RabbitMQ', version: '4.3.0' } },
    async createChannel() {
      const channel = new ScriptedChannel(() => missing);
      channels.push(channel);
      return channel;
    },
  });
  const link = new Link(model as unknown as ChannelModel, new AbortController(), 1_000);
  const queue = await openQueue(link, {
    address: 'orders',
    group: 'g',
    prefetch: 20,
    rules: {
      declare: false,
      order: true,
      deliveryLimit: undefined,
      deadLetterExchange: undefined,
      name: (address, group) => `${address}.${group}`,
      bindingKeys: () => [],
    },
  });
  await consume(link, queue, () => undefined);
  missing = deleted;

  channels[0]?.cancel();

  // At once: what it holds goes back before anything that comes later is delivered.
  expect(channels[0]?.closed).toBe(true);
  expect(String(await queue.ended)).toMatch(reason);
});
