import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import { dirname, join } from 'node:path';

/** What amqplib encodes and decodes by; its package exports the client only. */
interface Wire {
  readonly ids: Readonly<Record<string, number>>;
  encodeMethod(id: number | undefined, channel: number, fields: object): Buffer;
  encodeProperties(id: number | undefined, channel: number, size: number, fields: object): Buffer;
  makeBodyFrame(channel: number, body: Buffer): Buffer;
  parseFrame(bytes: Buffer, max: number): { readonly rest: Buffer } | false;
  decodeFrame(frame: object): Request;
}

/** A method that a client sent; heartbeats have no id. */
interface Request {
  readonly id?: number;
  readonly channel: number;
  readonly fields: Readonly<Record<string, unknown>>;
}

const frameMax = 131_072;
const wire = wireOfAmqplib();
const names = new Map(Object.entries(wire.ids).map(([name, id]) => [id, name]));

/** The server's side of one AMQP 0-9-1 connection. */
export class AmqpPeer {
  readonly #socket: Socket;
  readonly #version: string;
  readonly #receive: (method: string, channel: number, fields: Request['fields']) => void;
  #bytes = Buffer.alloc(0);
  #greeted = false;

  /** @param receive gets every method but those that open a connection */
  constructor(
    socket: Socket,
    version: string,
    receive: (method: string, channel: number, fields: Request['fields']) => void,
  ) {
    this.#socket = socket;
    this.#version = version;
    this.#receive = receive;
    socket.on('data', (chunk) => this.#take(chunk));
    socket.on('error', () => undefined);
  }

  send(channel: number, method: string, fields: object = {}): void {
    this.#socket.write(wire.encodeMethod(wire.ids[method], channel, fields));
  }

  deliver(channel: number, fields: object, properties: object, body: Buffer): void {
    this.send(channel, 'BasicDeliver', fields);
    this.#socket.write(wire.encodeProperties(wire.ids['BasicProperties'], channel, body.length, properties));
    this.#socket.write(wire.makeBodyFrame(channel, body));
  }

  end(): void {
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    if (!this.#greeted) {
      this.#greeted = true;
      this.#bytes = this.#bytes.subarray('AMQP0091'.length);
      this.send(0, 'ConnectionStart', {
        versionMajor: 0,
        versionMinor: 9,
        serverProperties: { product: 'RabbitMQ', version: this.#version, capabilities: {} },
        mechanisms: Buffer.from('PLAIN'),
        locales: Buffer.from('en_US'),
      });
    }
    for (;;) {
      const frame = wire.parseFrame(this.#bytes, frameMax);
      if (frame === false) return;
      this.#bytes = Buffer.from(frame.rest);
      const { id, channel, fields } = wire.decodeFrame(frame);
      if (id !== undefined) this.#answer(names.get(id) ?? String(id), channel, fields);
    }
  }

  #answer(method: string, channel: number, fields: Request['fields']): void {
    if (method === 'ConnectionStartOk')
      this.send(0, 'ConnectionTune', { channelMax: 100, frameMax, heartbeat: 0 });
    else if (method === 'ConnectionOpen') this.send(0, 'ConnectionOpenOk');
    else if (method === 'ConnectionClose') this.send(0, 'ConnectionCloseOk');
    else if (method !== 'ConnectionTuneOk') this.#receive(method, channel, fields);
  }
}

function wireOfAmqplib(): Wire {
  const load = createRequire(import.meta.url);
  const lib = join(dirname(load.resolve('amqplib')), 'lib');
  const defs = load(join(lib, 'defs.js')) as Wire & Wire['ids'];
  return { ...defs, ...(load(join(lib, 'frame.js')) as Wire), ids: defs };
}
