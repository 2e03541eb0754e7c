import type { Socket } from 'node:net';
import {
  type AmqpFields,
  AmqpReader,
  greetingBytes,
  messageBytes,
  methodBytes,
} from '../../support/rabbitmq/amqp-frames.ts';

type Receive = (method: string, channel: number, fields: AmqpFields) => void;

/** The server's side of one AMQP 0-9-1 connection. */
export class AmqpPeer {
  readonly #socket: Socket;
  readonly #receive: Receive;

  /** @param receive gets every method but those that open a connection */
  constructor(socket: Socket, version: string, receive: Receive) {
    this.#socket = socket;
    this.#receive = receive;
    const reader = new AmqpReader();
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      for (const frame of reader.read(chunk)) {
        if (frame.kind === 'greeting') socket.write(greetingBytes(version));
        else if (frame.kind === 'method') this.#answer(frame.name, frame.channel, frame.fields);
      }
    });
  }

  send(channel: number, method: string, fields: AmqpFields = {}): void {
    this.#socket.write(methodBytes(channel, method, fields));
  }

  deliver(channel: number, fields: AmqpFields, properties: AmqpFields, body: string): void {
    this.send(channel, 'BasicDeliver', fields);
    this.#socket.write(messageBytes(channel, body, properties));
  }

  end(): void {
    this.#socket.destroy();
  }

  #answer(method: string, channel: number, fields: AmqpFields): void {
    if (method === 'ConnectionStartOk')
      this.send(0, 'ConnectionTune', { channelMax: 100, frameMax: 131_072, heartbeat: 0 });
    else if (method === 'ConnectionOpen') this.send(0, 'ConnectionOpenOk');
    else if (method === 'ConnectionClose') this.send(0, 'ConnectionCloseOk');
    else if (method !== 'ConnectionTuneOk') this.#receive(method, channel, fields);
  }
}
