import { connect, type Socket } from 'node:net';

/** One answer of a broker, in the protocol of its own clients. */
export interface RemotingAnswer {
  readonly code: number;
  readonly remark: string;
  readonly fields: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

interface Waiting {
  resolve(answer: RemotingAnswer): void;
  reject(error: Error): void;
}

/** A connection to a broker, for requests side by side. While it waits for nothing it keeps no process alive. */
export class RemotingLink {
  readonly #socket: Socket;
  readonly #waiting = new Map<number, Waiting>();
  #got: Buffer = Buffer.alloc(0);
  #asked = 0;

  /** @param broker its `host:port` */
  constructor(broker: string, closed: () => void) {
    const { hostname, port } = new URL(`tcp://${broker}`);
    this.#socket = connect({ host: hostname, port: Number(port), noDelay: true });
    this.#socket.on('data', (piece) => this.#take(piece));
    this.#socket.on('error', () => this.#socket.destroy());
    this.#socket.once('close', () => {
      closed();
      for (const asked of this.#waiting.values()) asked.reject(new Error(`${broker} closed the connection.`));
    });
  }

  ask(
    code: number,
    extFields: Readonly<Record<string, string>>,
    body: Buffer = Buffer.alloc(0),
  ): Promise<RemotingAnswer> {
    this.#asked += 1;
    const opaque = this.#asked;
    const header = Buffer.from(
      JSON.stringify({ code, language: 'JAVA', version: 477, opaque, flag: 0, extFields }),
    );
    const lengths = Buffer.alloc(8);
    lengths.writeInt32BE(4 + header.length + body.length, 0);
    lengths.writeInt32BE(header.length, 4);
    this.#socket.ref();
    return new Promise((resolve, reject) => {
      this.#waiting.set(opaque, { resolve, reject });
      this.#socket.write(Buffer.concat([lengths, header, body]));
    });
  }

  #take(piece: Buffer): void {
    this.#got = Buffer.concat([this.#got, piece]);
    while (this.#got.length >= 4 && this.#got.length >= 4 + this.#got.readInt32BE(0)) {
      const end = 4 + this.#got.readInt32BE(0);
      this.#answer(this.#got.subarray(0, end));
      this.#got = this.#got.subarray(end);
    }
  }

  #answer(frame: Buffer): void {
    // The first byte says how the header is written: JSON, because the question was.
    const headerEnd = 8 + frame.readUIntBE(5, 3);
    const {
      code,
      extFields = {},
      opaque,
      remark = '',
    } = JSON.parse(frame.toString('utf8', 8, headerEnd)) as {
      code: number;
      opaque: number;
      remark?: string;
      extFields?: Record<string, string>;
    };
    this.#waiting
      .get(opaque)
      ?.resolve({ code, remark, fields: extFields, body: Buffer.from(frame.subarray(headerEnd)) });
    this.#waiting.delete(opaque);
    if (this.#waiting.size === 0) this.#socket.unref();
  }
}
