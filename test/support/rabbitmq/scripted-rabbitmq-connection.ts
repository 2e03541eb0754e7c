import type { Socket } from 'node:net';
import {
  type AmqpFields,
  AmqpReader,
  greetingBytes,
  heartbeatBytes,
  messageBytes,
  methodBytes,
} from './amqp-frames.ts';
import type { RabbitmqRefusal, ScriptedRabbitmq } from './scripted-rabbitmq.ts';

/** A consumer of a queue. */
export interface RabbitmqConsumer {
  readonly client: ScriptedConnection;
  readonly channel: number;
  readonly tag: string;
}

const answers: Readonly<Record<string, string>> = {
  ChannelOpen: 'ChannelOpenOk',
  ChannelClose: 'ChannelCloseOk',
  ConfirmSelect: 'ConfirmSelectOk',
  BasicQos: 'BasicQosOk',
  QueueBind: 'QueueBindOk',
  ExchangeDeclare: 'ExchangeDeclareOk',
  ConnectionOpen: 'ConnectionOpenOk',
};

/** One connection of a client. */
export class ScriptedConnection {
  readonly #server: ScriptedRabbitmq;
  readonly #socket: Socket;
  readonly #connection: number;
  /** Numbers of deliveries and of messages, by channel. */
  readonly #delivered = new Map<number, number>();
  readonly #confirmed = new Map<number, number>();
  readonly #queues = new Map<string, string>();
  /** The message that has begun, by channel. */
  readonly #begun = new Map<
    number,
    { fields: AmqpFields; properties: AmqpFields; size: number; body: Buffer }
  >();

  constructor(server: ScriptedRabbitmq, socket: Socket, connection: number) {
    this.#server = server;
    this.#socket = socket;
    this.#connection = connection;
    const reader = new AmqpReader();
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#ended());
    socket.on('data', (bytes: Buffer) => {
      for (const frame of reader.read(bytes)) {
        if (frame.kind === 'greeting') this.#greet();
        else if (frame.kind === 'heartbeat') this.#write(heartbeatBytes);
        else if (frame.kind === 'method') this.#take(frame.channel, frame.name, frame.fields);
        else if (frame.kind === 'head') this.#head(frame.channel, frame.size, frame.fields);
        else if (frame.kind === 'body') this.#body(frame.channel, frame.bytes);
      }
    });
  }

  send(channel: number, name: string, fields: AmqpFields = {}): void {
    this.#write(methodBytes(channel, name, fields));
  }

  #write(bytes: Buffer): void {
    if (this.#socket.writable) this.#socket.write(bytes);
  }

  cut(): void {
    this.#socket.destroy();
  }

  deliver({ channel, tag }: RabbitmqConsumer, id: string): void {
    const deliveryTag = (this.#delivered.get(channel) ?? 0) + 1;
    this.#delivered.set(channel, deliveryTag);
    this.send(channel, 'BasicDeliver', {
      consumerTag: tag,
      deliveryTag,
      redelivered: false,
      exchange: 'orders',
      routingKey: '',
    });
    this.#write(messageBytes(channel, id, { messageId: id, headers: {} }));
  }

  #ended(): void {
    this.#server.clients.delete(this);
    for (const [queue, { client }] of this.#server.consumers)
      if (client === this) this.#server.consumers.delete(queue);
  }

  #greet(): void {
    if (this.#server.mute.has('greeting')) return;
    const capabilities = { consumer_cancel_notify: true, 'connection.blocked': true };
    this.#write(greetingBytes(this.#server.version, capabilities));
  }

  #take(channel: number, name: string, fields: AmqpFields): void {
    const question = { connection: this.#connection, channel, name, fields };
    this.#server.asked.push(question);
    if (this.#server.mute.has(name)) return;
    const refusal = this.#server.refuse(question) ?? this.#missing(name, fields);
    if (refusal === undefined) this.#answer(channel, name, fields);
    else this.#refuse(channel, refusal);
  }

  #missing(name: string, fields: AmqpFields): RabbitmqRefusal | undefined {
    const { missing } = this.#server;
    const of = (wanted: unknown, kind: string): RabbitmqRefusal | undefined =>
      typeof wanted === 'string' && missing.has(wanted)
        ? { code: 404, text: `NOT_FOUND - no ${kind} '${wanted}' in vhost '/'` }
        : undefined;
    if (name === 'QueueBind' || name === 'ExchangeDeclare') return of(fields['exchange'], 'exchange');
    if (name === 'QueueDeclare' && fields['passive'] !== true) {
      missing.delete(String(fields['queue']));
      return undefined;
    }
    return name === 'QueueDeclare' || name === 'BasicConsume' ? of(fields['queue'], 'queue') : undefined;
  }

  #answer(channel: number, name: string, fields: AmqpFields): void {
    const queue = String(fields['queue']);
    if (name === 'ConnectionStartOk') this.#login(fields);
    else if (name === 'ConnectionClose') {
      this.send(0, 'ConnectionCloseOk');
      this.#socket.end();
    } else if (name === 'QueueDeclare') {
      this.send(channel, 'QueueDeclareOk', { queue, messageCount: 0, consumerCount: 0 });
    } else if (name === 'BasicConsume') this.#consume(channel, queue);
    else if (name === 'BasicAck') this.#acknowledge(channel, fields);
    else if (name === 'BasicPublish')
      this.#begun.set(channel, { fields, properties: {}, size: 0, body: Buffer.alloc(0) });
    else if (answers[name] !== undefined) {
      if (name === 'ChannelClose') this.#closed(channel);
      this.send(channel, answers[name]);
    }
  }

  #login({ clientProperties, response }: AmqpFields): void {
    const name: unknown = Reflect.get(Object(clientProperties), 'connection_name');
    this.#server.logins.push({ name, user: String(response).split('\0')[1] ?? '' });
    const refused = this.#server.refuseLogin(String(response));
    if (refused !== undefined) return this.#refuse(0, { code: 403, text: refused, connection: true });
    this.send(0, 'ConnectionTune', { channelMax: 0, frameMax: 131_072, heartbeat: 0 });
  }

  #consume(channel: number, queue: string): void {
    const tag = `${this.#connection}.${channel}`;
    this.#queues.set(tag, queue);
    this.#server.consumers.set(queue, { client: this, channel, tag });
    this.send(channel, 'BasicConsumeOk', { consumerTag: tag });
  }

  #acknowledge(channel: number, { deliveryTag, multiple }: AmqpFields): void {
    const queue = this.#queues.get(`${this.#connection}.${channel}`) ?? '';
    this.#server.acknowledged.push(
      `${queue} ${String(deliveryTag)}${multiple === true ? ' and before' : ''}`,
    );
  }

  #refuse(channel: number, { code, connection, text }: RabbitmqRefusal): void {
    const fields = { replyCode: code, replyText: text, classId: 0, methodId: 0 };
    if (connection === true) this.send(0, 'ConnectionClose', fields);
    else {
      this.#closed(channel);
      this.send(channel, 'ChannelClose', fields);
    }
  }

  #closed(channel: number): void {
    this.#delivered.delete(channel);
    this.#confirmed.delete(channel);
    for (const [queue, consumer] of this.#server.consumers)
      if (consumer.client === this && consumer.channel === channel) this.#server.consumers.delete(queue);
  }

  #head(channel: number, size: number, properties: AmqpFields): void {
    const begun = this.#begun.get(channel);
    if (begun === undefined) return;
    Object.assign(begun, { properties, size });
    if (size === 0) this.#whole(channel);
  }

  #body(channel: number, bytes: Buffer): void {
    const begun = this.#begun.get(channel);
    if (begun === undefined) return;
    begun.body = Buffer.concat([begun.body, bytes]);
    if (begun.body.length >= begun.size) this.#whole(channel);
  }

  #whole(channel: number): void {
    const begun = this.#begun.get(channel);
    this.#begun.delete(channel);
    if (begun === undefined) return;
    const [exchange, routingKey] = [String(begun.fields['exchange']), String(begun.fields['routingKey'])];
    const { properties } = begun;
    const body = begun.body.toString();
    const message = { connection: this.#connection, channel, exchange, routingKey, body, properties };
    this.#server.published.push(message);
    const missing = this.#missing('ExchangeDeclare', { exchange });
    const verdict = missing ?? this.#server.confirm(message);
    const deliveryTag = (this.#confirmed.get(channel) ?? 0) + 1;
    this.#confirmed.set(channel, deliveryTag);
    if (typeof verdict === 'object') {
      this.#refuse(channel, verdict);
      return;
    }
    if (verdict === 'ack') this.send(channel, 'BasicAck', { deliveryTag, multiple: false });
  }
}
