import { connect } from 'node:net';
import type { ISocketFactory } from 'kafkajs';

const produceApi = 0;
const lengthBytes = 4;

/** A real connection that replaces the error code in the broker's responses to produce requests. */
export interface AnsweringWire {
  readonly openSocket: ISocketFactory;
  /** Replaces the error code from now on; `undefined`: no longer. */
  answer(code: number | undefined): void;
}

/** The broker itself is unaffected: if code 0 is replaced, it has stored what its response seems to refuse. */
export function answeringWire(): AnsweringWire {
  let wanted: number | undefined;
  const openSocket: ISocketFactory = ({ host, port, onConnect }) => {
    const socket = connect({ host, port }, onConnect);
    const asked = new Set<number>();
    const write = socket.write.bind(socket);
    const emit = socket.emit.bind(socket);
    let begun = Buffer.alloc(0);
    return Object.assign(socket, {
      write(request: Buffer): boolean {
        if (request.length >= 12 && request.readInt16BE(4) === produceApi) asked.add(request.readInt32BE(8));
        return write(request);
      },
      emit(event: string | symbol, ...values: unknown[]): boolean {
        const [data] = values;
        if (event !== 'data' || !Buffer.isBuffer(data)) return emit(event, ...values);
        begun = Buffer.concat([begun, data]);
        while (begun.length >= lengthBytes && begun.length >= lengthBytes + begun.readInt32BE(0)) {
          const end = lengthBytes + begun.readInt32BE(0);
          const frame = Buffer.from(begun.subarray(0, end));
          begun = begun.subarray(end);
          if (asked.delete(frame.readInt32BE(lengthBytes)) && wanted !== undefined)
            frame.writeInt16BE(wanted, placeOfCode(frame));
          emit('data', frame);
        }
        return true;
      },
    });
  };
  return {
    openSocket,
    answer(code) {
      wanted = code;
    },
  };
}

/** Length, correlation id, one topic, its name, one partition, its number: then the error code. */
function placeOfCode(frame: Buffer): number {
  const nameAt = lengthBytes + 4 + 4;
  return nameAt + 2 + frame.readInt16BE(nameAt) + 4 + 4;
}
