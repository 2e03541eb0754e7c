import { createHmac } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { connect as connectSecurely } from 'node:tls';
import { readJson } from '../../../core/json.ts';
import { late, orLate } from '../../../core/or-late.ts';
import type { AccessKey, RocketmqConnection } from './connection.ts';

/** A question in the protocol that name servers and brokers speak with their own clients. */
export interface RemotingQuestion {
  readonly code: number;
  readonly fields?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

/** The answer to one question. */
export interface RemotingAnswer {
  readonly code: number;
  /** Why it was refused. */
  readonly remark: string;
  readonly body: Buffer;
}

interface Waiting {
  resolve(answer: RemotingAnswer): void;
  reject(error: Error): void;
}

/** Version 5.4 of the protocol: servers leave out what an older client does not know. */
const protocolVersion = 477;

/** More than any answer: brokers refuse larger frames themselves. */
const mostBytes = 64 * 1024 * 1024;

/** One connection to a name server or broker; it is never reopened. */
export class RemotingLink {
  readonly #server: string;
  readonly #credentials: AccessKey | undefined;
  readonly #withinMs: number;
  readonly #socket: Socket;
  readonly #waiting = new Map<number, Waiting>();
  #received: Buffer = Buffer.alloc(0);
  #asked = 0;
  #ended: Error | undefined;

  /** @param server its `host:port` */
  constructor(server: string, { brokerTls, credentials, requestTimeoutMs }: RocketmqConnection) {
    this.#server = server;
    this.#credentials = credentials;
    this.#withinMs = requestTimeoutMs;
    this.#socket = open(server, brokerTls);
    this.#socket.on('data', (piece) => this.#take(piece));
    this.#socket.on('error', (error) => this.#end(error));
    const hint = brokerTls === false ? ', as one does that wants TLS (`brokerTls`)' : '';
    this.#socket.once('close', () => this.#end(new Error(`${server} closed the connection${hint}`)));
  }

  /** @throws Error if the connection ends, or there is no answer in time: then it is unknown whether the question was read */
  async ask(question: RemotingQuestion): Promise<RemotingAnswer> {
    if (this.#ended !== undefined) throw this.#ended;
    this.#asked += 1;
    const opaque = this.#asked;
    const answered = new Promise<RemotingAnswer>((resolve, reject) => {
      this.#waiting.set(opaque, { resolve, reject });
    });
    this.#socket.write(frameOf(opaque, signed(question, this.#credentials)));
    const answer = await orLate(answered, this.#withinMs);
    if (answer !== late) return answer;
    const error = new Error(`${this.#server} did not answer in time`);
    this.#end(error);
    throw error;
  }

  /** Closes the connection; whatever waits for an answer fails. */
  close(): void {
    this.#end(new Error(`The connection to ${this.#server} was closed`));
  }

  #end(error: Error): void {
    this.#ended ??= error;
    this.#socket.destroy();
    for (const waiting of this.#waiting.values()) waiting.reject(this.#ended);
    this.#waiting.clear();
  }

  #take(piece: Buffer): void {
    this.#received = Buffer.concat([this.#received, piece]);
    for (;;) {
      const { length } = this.#received;
      const end = length < 4 ? Infinity : 4 + this.#received.readUInt32BE(0);
      if (end !== Infinity && end > mostBytes) return this.#end(this.#otherServer());
      if (length < end) return;
      const frame = this.#received.subarray(0, end);
      this.#received = this.#received.subarray(end);
      const header = headerIn(frame);
      if (header === undefined) return this.#end(this.#otherServer());
      const waiting = this.#waiting.get(header.opaque);
      this.#waiting.delete(header.opaque);
      waiting?.resolve(header.answer);
    }
  }

  /** What listens there may be any server. */
  #otherServer(): Error {
    return new Error(`${this.#server} does not speak the protocol of RocketMQ`);
  }
}

/** `undefined` for what is no frame of the protocol. */
function headerIn(frame: Buffer): { readonly opaque: number; readonly answer: RemotingAnswer } | undefined {
  if (frame.length < 8) return undefined;
  // The byte before says how the header is written: as JSON, because the question was.
  const headerEnd = 8 + frame.readUIntBE(5, 3);
  if (headerEnd > frame.length) return undefined;
  const header = readJson(frame.toString('utf8', 8, headerEnd));
  if (typeof header !== 'object' || header === null) return undefined;
  if (!('code' in header) || !('opaque' in header)) return undefined;
  const { code, opaque } = header;
  if (typeof code !== 'number' || typeof opaque !== 'number') return undefined;
  const remark = 'remark' in header && typeof header.remark === 'string' ? header.remark : '';
  return { opaque, answer: { code, remark, body: Buffer.from(frame.subarray(headerEnd)) } };
}

function open(server: string, tls: RocketmqConnection['brokerTls']): Socket {
  const { hostname, port } = new URL(`tcp://${server}`);
  const to = { host: hostname.replaceAll(/^\[|\]$/g, ''), port: Number(port), noDelay: true };
  if (tls === false) return connect(to);
  return connectSecurely({ ...(tls === true ? {} : tls), ...to });
}

/** Adds the user, and the signature of all fields and the body. */
function signed(question: RemotingQuestion, credentials: AccessKey | undefined): RemotingQuestion {
  if (credentials === undefined) return question;
  const { accessKey, secretKey } = credentials;
  const fields: Readonly<Record<string, string>> = { ...question.fields, AccessKey: accessKey };
  const hmac = createHmac('sha1', secretKey);
  for (const name of Object.keys(fields).toSorted()) hmac.update(fields[name] ?? '');
  if (question.body !== undefined) hmac.update(question.body);
  return { ...question, fields: { ...fields, Signature: hmac.digest('base64') } };
}

/** The lengths of frame and header, the header, the body. */
function frameOf(opaque: number, { body = Buffer.alloc(0), code, fields = {} }: RemotingQuestion): Buffer {
  const header = Buffer.from(
    JSON.stringify({ code, language: 'JAVA', version: protocolVersion, opaque, flag: 0, extFields: fields }),
  );
  const lengths = Buffer.alloc(8);
  lengths.writeInt32BE(4 + header.length + body.length, 0);
  lengths.writeInt32BE(header.length, 4);
  return Buffer.concat([lengths, header, body]);
}
