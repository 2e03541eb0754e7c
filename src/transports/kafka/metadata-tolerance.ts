import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { ISocketFactory, ISocketFactoryArgs } from 'kafkajs';

/**
 * kafkajs reads metadata all or nothing: one deleted topic, forbidden topic or leaderless partition among the topics
 * of a client, and every refresh throws, so that sends to healthy topics and partitions fail as well. Here the error
 * codes in a metadata answer are set to 0 on their way in. What is left says the same thing per topic: a partition
 * without a leader has leader -1, and a topic that cannot be used has no partitions.
 */

const metadataApi = 3;
/** Layouts of the metadata answer that kafkajs asks for; others pass untouched. */
const knownVersions = { from: 0, to: 6 } as const;
const keepAliveMs = 60_000;

/** Bytes between the frame's length and its body: the correlation id. */
const lengthBytes = 4;
const answerHeaderBytes = 8;

/** The sockets that a client opened. */
export interface Sockets {
  readonly factory: ISocketFactory;
  /** How many are connected now. */
  openCount(): number;
  /** Closes what is still open: kafkajs only half-closes, which a broker that hangs never answers. */
  destroy(): void;
}

/** A socket factory for kafkajs whose connections tolerate metadata with errors in it. */
export function tolerantSockets(open: ISocketFactory = openSocket): Sockets {
  const connected = new Set<Socket>();
  const opened = new Set<Socket>();
  const factory: ISocketFactory = (target) => {
    const socket = open({
      ...target,
      onConnect: () => {
        connected.add(socket);
        target.onConnect();
      },
    });
    opened.add(socket);
    for (const event of ['end', 'error', 'close'])
      socket.prependListener(event, () => connected.delete(socket));
    socket.once('close', () => opened.delete(socket));
    return tolerate(socket);
  };
  const destroy = (): void => {
    for (const socket of opened) socket.destroy();
  };
  return { factory, openCount: () => connected.size, destroy };
}

function openSocket({ host, port, ssl, onConnect }: ISocketFactoryArgs): Socket {
  const socket = ssl
    ? connectTls({ host, port, ...(isIP(host) ? {} : { servername: host }), ...ssl }, onConnect)
    : connectTcp({ host, port }, onConnect);
  socket.setNoDelay(true);
  socket.setKeepAlive(true, keepAliveMs);
  return socket;
}

function tolerate(socket: Socket): Socket {
  const frames = new AnswerFrames();
  const emit = socket.emit.bind(socket);
  const write = socket.write.bind(socket);
  return Object.assign(socket, {
    emit(event: string | symbol, ...values: unknown[]): boolean {
      const [data] = values;
      if (event !== 'data' || !Buffer.isBuffer(data)) return emit(event, ...values);
      for (const frame of frames.receive(data)) emit('data', frame);
      return true;
    },
    write(request: Uint8Array): boolean {
      frames.sent(request);
      return write(request);
    },
  });
}

/** Cuts a connection's incoming bytes into answers, and clears the error codes of those that carry metadata. */
export class AnswerFrames {
  /** Metadata requests that wait for an answer: correlation id → version. */
  readonly #asked = new Map<number, number>();
  #parts: Buffer[] = [];
  #buffered = 0;
  #needed = lengthBytes;

  /** Takes note of a request; kafkajs writes each in one piece. */
  sent(request: Uint8Array): void {
    if (request.byteLength < 12) return;
    const view = Buffer.from(request.buffer, request.byteOffset, 12);
    if (view.readInt16BE(4) !== metadataApi) return;
    const version = view.readInt16BE(6);
    if (version >= knownVersions.from && version <= knownVersions.to)
      this.#asked.set(view.readInt32BE(8), version);
  }

  /** Takes bytes in and returns the answers that are complete with them. */
  receive(data: Buffer): readonly Buffer[] {
    this.#parts.push(data);
    this.#buffered += data.length;
    const complete: Buffer[] = [];
    while (this.#buffered >= this.#needed) {
      const bytes = this.#parts.length === 1 ? (this.#parts[0] ?? data) : Buffer.concat(this.#parts);
      const frameBytes = lengthBytes + bytes.readInt32BE(0);
      this.#parts = [bytes];
      this.#needed = frameBytes;
      if (bytes.length < frameBytes) break;
      complete.push(this.#cleared(bytes.subarray(0, frameBytes)));
      const rest = bytes.subarray(frameBytes);
      this.#parts = rest.length > 0 ? [rest] : [];
      this.#buffered = rest.length;
      this.#needed = lengthBytes;
    }
    return complete;
  }

  #cleared(frame: Buffer): Buffer {
    if (frame.length < answerHeaderBytes) return frame;
    const correlationId = frame.readInt32BE(lengthBytes);
    const version = this.#asked.get(correlationId);
    if (version === undefined) return frame;
    this.#asked.delete(correlationId);
    clearMetadataErrors(frame, version);
    return frame;
  }
}

/** Sets every error code of a metadata answer to 0, in place. One that cannot be followed to its end stays as it is. */
function clearMetadataErrors(frame: Buffer, version: number): void {
  try {
    for (const place of errorPlaces(frame, version)) frame.writeInt16BE(0, place);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
}

/** Where the error codes of a metadata answer are. Layout: Kafka protocol, Metadata response v0 to v6. */
function errorPlaces(frame: Buffer, version: number): readonly number[] {
  const places: number[] = [];
  let at = answerHeaderBytes;
  const int32 = (): number => frame.readInt32BE((at += 4) - 4);
  const skipText = (): void => {
    const length = frame.readInt16BE(at);
    at += 2 + Math.max(0, length);
  };
  const repeat = (item: () => void): void => {
    for (let left = int32(); left > 0; left -= 1) item();
  };
  const noteError = (): void => {
    places.push(at);
    at += 2;
  };
  const skipReplicas = (): void => {
    const count = int32();
    at += 4 * Math.max(0, count);
  };
  if (version >= 3) at += 4;
  repeat(() => {
    at += 4;
    skipText();
    at += 4;
    if (version >= 1) skipText();
  });
  if (version >= 2) skipText();
  if (version >= 1) at += 4;
  repeat(() => {
    noteError();
    skipText();
    if (version >= 1) at += 1;
    repeat(() => {
      noteError();
      at += 8;
      for (let lists = version >= 5 ? 3 : 2; lists > 0; lists -= 1) skipReplicas();
    });
  });
  return places;
}
