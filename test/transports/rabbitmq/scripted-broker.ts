import { type AddressInfo, createServer } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import { onTestFinished } from 'vitest';
import type { AmqpFields } from '../../support/rabbitmq/amqp-frames.ts';
import { AmqpPeer } from './amqp-peer.ts';

interface Message {
  readonly id: string;
}

interface OpenChannel {
  readonly peer: AmqpPeer;
  readonly number: number;
  prefetch: number;
  lastTag: number;
  /** In the order of delivery. */
  unacknowledged: { readonly tag: number; readonly message: Message }[];
  /** Of its consumer, until that is canceled. */
  consumerTag: string | undefined;
}

/**
 * A server with one quorum queue, which speaks AMQP 0-9-1 and does what the documents say that releases do which do not run
 * here: it takes single messages back from a consumer, and refuses to declare a queue with other arguments.
 */
export class ScriptedBroker {
  /** `amqp://…` */
  readonly url: string;
  /** Arguments of the queue; `undefined`: there is none. */
  arguments: object | undefined;
  /** In the order of their opening. */
  readonly channels = new Set<OpenChannel>();
  /** What came back, in the order in which it did: delivered before the others. */
  readonly #returned: Message[] = [];
  readonly #ready: Message[] = [];

  private constructor(url: string) {
    this.url = url;
  }

  static async start(version: string): Promise<ScriptedBroker> {
    const server = createServer();
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    const { port } = server.address() as AddressInfo;
    const broker = new ScriptedBroker(`amqp://guest:guest@127.0.0.1:${port}`);
    const peers: AmqpPeer[] = [];
    server.on('connection', (socket) => {
      const peer: AmqpPeer = new AmqpPeer(socket, version, (...request) => broker.#receive(peer, ...request));
      peers.push(peer);
    });
    onTestFinished(() => {
      for (const peer of peers) peer.end();
      server.close();
    });
    return broker;
  }

  /** How many messages are delivered and not acknowledged. */
  get unacknowledged(): number {
    return [...this.channels].reduce((sum, channel) => sum + channel.unacknowledged.length, 0);
  }

  publish(...ids: readonly string[]): void {
    this.#ready.push(...ids.map((id) => ({ id })));
    this.#deliver();
  }

  /**
   * Takes the oldest messages back from the consumer, and cancels it; it keeps the others until its channel ends. RabbitMQ does
   * so from 4.3 on with those that are unacknowledged for longer than `consumer_timeout`.
   */
  timeOut(count: number): void {
    for (const channel of this.channels) {
      if (channel.consumerTag === undefined) continue;
      this.#returned.push(...channel.unacknowledged.splice(0, count).map(({ message }) => message));
      cancel(channel);
    }
  }

  deleteQueue(): void {
    this.arguments = undefined;
    for (const channel of this.channels) if (channel.consumerTag !== undefined) cancel(channel);
  }

  #receive(peer: AmqpPeer, method: string, number: number, fields: AmqpFields): void {
    const channel = [...this.channels].find((one) => one.peer === peer && one.number === number);
    if (channel === undefined) {
      const opened = { prefetch: 0, lastTag: 0, unacknowledged: [], consumerTag: undefined };
      if (method === 'ChannelOpen') this.channels.add({ peer, number, ...opened });
      if (method === 'ChannelOpen') peer.send(number, 'ChannelOpenOk', { channelId: Buffer.alloc(0) });
      return;
    }
    if (method === 'QueueDeclare') this.#declare(channel, fields);
    else if (method === 'QueueBind') peer.send(number, 'QueueBindOk');
    else if (method === 'BasicQos') {
      channel.prefetch = Number(fields['prefetchCount']);
      peer.send(number, 'BasicQosOk');
    } else if (method === 'BasicConsume') {
      channel.consumerTag = `consumer-${number}`;
      peer.send(number, 'BasicConsumeOk', { consumerTag: channel.consumerTag });
    } else if (method === 'BasicAck') acknowledge(channel, Number(fields['deliveryTag']), fields['multiple']);
    else if (method === 'ChannelClose') this.#close(channel, 'ChannelCloseOk');
    this.#deliver();
  }

  #declare(channel: OpenChannel, { arguments: wanted, passive }: AmqpFields): void {
    const [had, wants] = [this.arguments, passive === true ? this.arguments : (wanted as object)];
    const refuse = (replyCode: number, replyText: string): void =>
      this.#close(channel, 'ChannelClose', { replyCode, replyText, classId: 50, methodId: 10 });
    if (wants === undefined) return refuse(404, `NOT_FOUND - no queue`);
    if (had !== undefined && !isSame(had, wants))
      return refuse(406, `PRECONDITION_FAILED - inequivalent arg for queue`);
    this.arguments = wants;
    const counts = { messageCount: this.#ready.length, consumerCount: 0 };
    channel.peer.send(channel.number, 'QueueDeclareOk', { queue: 'queue', ...counts });
  }

  #close(channel: OpenChannel, method: string, fields: AmqpFields = {}): void {
    this.channels.delete(channel);
    this.#returned.push(...channel.unacknowledged.map(({ message }) => message));
    channel.peer.send(channel.number, method, fields);
  }

  #deliver(): void {
    const channel = [...this.channels].find(({ consumerTag }) => consumerTag !== undefined);
    if (channel === undefined) return;
    while (channel.unacknowledged.length < channel.prefetch) {
      const message = this.#returned.shift() ?? this.#ready.shift();
      if (message === undefined) return;
      channel.lastTag += 1;
      const { consumerTag, lastTag: deliveryTag, number } = channel;
      channel.unacknowledged.push({ tag: deliveryTag, message });
      const from = { consumerTag, deliveryTag, redelivered: false, exchange: '', routingKey: '' };
      channel.peer.deliver(number, from, { messageId: message.id, headers: {} }, '{}');
    }
  }
}

function cancel(channel: OpenChannel): void {
  channel.peer.send(channel.number, 'BasicCancel', { consumerTag: channel.consumerTag, nowait: true });
  channel.consumerTag = undefined;
}

function acknowledge(channel: OpenChannel, upTo: number, multiple: unknown): void {
  channel.unacknowledged = channel.unacknowledged.filter(({ tag }) =>
    multiple === true ? tag > upTo : tag !== upTo,
  );
}

function isSame(a: object, b: object): boolean {
  return isDeepStrictEqual({ ...a }, { ...b });
}
