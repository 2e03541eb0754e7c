import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

export type AmqpFields = Readonly<Record<string, unknown>>;

/** The codec of amqplib, which knows the methods of both sides. */
interface Codec {
  decode(id: number, fields: Buffer): AmqpFields;
  encodeMethod(id: number, channel: number, fields: AmqpFields): Buffer;
  encodeProperties(id: number, channel: number, size: number, fields: AmqpFields): Buffer;
  info(id: number): { readonly name: string };
}

const load = createRequire(import.meta.url);
const codec = load(join(dirname(load.resolve('amqplib')), 'lib/defs.js')) as Codec;
const protocolHeaderBytes = 8;
const headBytes = 7;
const frameTypes = { method: 1, head: 2, body: 3, heartbeat: 8 } as const;
export const heartbeatBytes = Buffer.of(frameTypes.heartbeat, 0, 0, 0, 0, 0, 0, 0xce);

/** A method of AMQP, or a part of the message that follows one. */
export type AmqpFrame =
  | { readonly kind: 'greeting' }
  | { readonly kind: 'heartbeat' }
  | { readonly kind: 'method'; readonly channel: number; readonly name: string; readonly fields: AmqpFields }
  | { readonly kind: 'head'; readonly channel: number; readonly size: number; readonly fields: AmqpFields }
  | { readonly kind: 'body'; readonly channel: number; readonly bytes: Buffer };

/** Cuts what a client sends into frames. */
export class AmqpReader {
  #begun = Buffer.alloc(0);
  #greeted = false;

  read(bytes: Buffer): readonly AmqpFrame[] {
    const read: AmqpFrame[] = [];
    this.#begun = Buffer.concat([this.#begun, bytes]);
    if (!this.#greeted) {
      if (this.#begun.length < protocolHeaderBytes) return [];
      this.#greeted = true;
      this.#begun = this.#begun.subarray(protocolHeaderBytes);
      read.push({ kind: 'greeting' });
    }
    while (this.#begun.length > headBytes) {
      const end = headBytes + this.#begun.readUInt32BE(3);
      if (this.#begun.length <= end) break;
      read.push(frameOf(this.#begun, Buffer.from(this.#begun.subarray(headBytes, end))));
      this.#begun = this.#begun.subarray(end + 1);
    }
    return read;
  }
}

function frameOf(head: Buffer, content: Buffer): AmqpFrame {
  const channel = head.readUInt16BE(1);
  switch (head.readUInt8(0)) {
    case frameTypes.method: {
      const id = content.readUInt32BE(0);
      const fields = codec.decode(id, content.subarray(4));
      return { kind: 'method', channel, name: codec.info(id).name, fields };
    }
    case frameTypes.head: {
      const fields = codec.decode(content.readUInt16BE(0), content.subarray(12));
      return { kind: 'head', channel, size: Number(content.readBigUInt64BE(4)), fields };
    }
    case frameTypes.body:
      return { kind: 'body', channel, bytes: content };
    default:
      return { kind: 'heartbeat' };
  }
}

/** The bytes of a method, by its name in amqplib. */
export function methodBytes(channel: number, name: string, fields: AmqpFields = {}): Buffer {
  return codec.encodeMethod(idOf(name), channel, fields);
}

/** What a server of this version says first. */
export function greetingBytes(version: string, capabilities: AmqpFields = {}): Buffer {
  return methodBytes(0, 'ConnectionStart', {
    versionMajor: 0,
    versionMinor: 9,
    serverProperties: { product: 'RabbitMQ', version, capabilities },
    mechanisms: Buffer.from('PLAIN'),
    locales: Buffer.from('en_US'),
  });
}

/** The bytes of a message, which follow its method. */
export function messageBytes(channel: number, body: string, properties: AmqpFields): Buffer {
  const content = Buffer.from(body);
  const head = Buffer.alloc(headBytes);
  head.writeUInt8(frameTypes.body, 0);
  head.writeUInt16BE(channel, 1);
  head.writeUInt32BE(content.length, 3);
  return Buffer.concat([
    codec.encodeProperties(idOf('BasicProperties'), channel, content.length, properties),
    ...(content.length === 0 ? [] : [head, content, Buffer.of(0xce)]),
  ]);
}

function idOf(name: string): number {
  const id: unknown = Reflect.get(codec, name);
  if (typeof id !== 'number') throw new Error(`AMQP has no method ${name}.`);
  return id;
}
