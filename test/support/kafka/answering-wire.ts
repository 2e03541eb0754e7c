import { connect, createServer, type Socket } from 'node:net';
import type { Reach } from '../../../src/brokers/kafka/transport/broker-address.ts';

const produceApi = 0;
const lengthBytes = 4;

/** A real connection that replaces the error code in the broker's responses to produce requests. */
export interface AnsweringWire {
  readonly reach: Reach;
  /** Replaces the error code from now on; `undefined`: no longer. */
  answer(code: number | undefined): void;
  /** Ends the open connections. */
  cut(): void;
  close(): Promise<void>;
}

/** The broker itself is unaffected: if code 0 is replaced, it has stored what its response seems to refuse. */
export async function answeringWire(brokers: string): Promise<AnsweringWire> {
  let wanted: number | undefined;
  const [host = '', port = ''] = brokers.split(':');
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const broker = connect({ host, port: Number(port) });
    const asked = new Set<number>();
    const toBroker = frames((request) => {
      if (request.readInt16BE(lengthBytes) === produceApi) asked.add(request.readInt32BE(8));
      broker.write(request);
    });
    const toClient = frames((answer) => {
      if (asked.delete(answer.readInt32BE(lengthBytes)) && wanted !== undefined)
        answer.writeInt16BE(wanted, placeOfCode(answer));
      client.write(answer);
    });
    client.on('data', toBroker);
    broker.on('data', toClient);
    for (const [one, other] of [
      [client, broker],
      [broker, client],
    ] as const) {
      open.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        open.delete(one);
        other.destroy();
      });
    }
  });
  const cut = (): void => {
    for (const socket of open) socket.destroy();
  };
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  const listening = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    reach: () => ({ host: '127.0.0.1', port: listening }),
    answer(code) {
      wanted = code;
    },
    cut,
    async close() {
      cut();
      await new Promise((done) => server.close(done));
    },
  };
}

/** Cuts a stream of bytes into whole frames, each of which is a copy. */
function frames(take: (frame: Buffer) => void): (bytes: Buffer) => void {
  let begun = Buffer.alloc(0);
  return (bytes) => {
    begun = Buffer.concat([begun, bytes]);
    while (begun.length >= lengthBytes && begun.length >= lengthBytes + begun.readInt32BE(0)) {
      const end = lengthBytes + begun.readInt32BE(0);
      take(Buffer.from(begun.subarray(0, end)));
      begun = begun.subarray(end);
    }
  };
}

/** Length, correlation id, one topic, its name, one partition, its number: then the error code. */
function placeOfCode(frame: Buffer): number {
  const nameAt = lengthBytes + 4 + 4;
  return nameAt + 2 + frame.readInt16BE(nameAt) + 4 + 4;
}
