import { Socket } from 'node:net';
import { vi } from 'vitest';

/** API keys of Kafka's protocol. */
export const kafkaRequests = {
  produce: 0,
  fetch: 1,
  metadata: 3,
  joinGroup: 11,
  describeConfigs: 32,
} as const;

/** Requests that this process sends to brokers, on all connections. */
export interface WatchedWire {
  /** The bodies of the requests with this API key so far. */
  requests(kind: number): readonly Buffer[];
}

/** Length, API key, version, correlation id, and the length of the client id. */
const headBytes = 14;

/** Records until the mocks of the test are restored. kafkajs writes each request at once. */
export function watchWire(): WatchedWire {
  const write = vi.spyOn(Socket.prototype, 'write');
  return {
    requests: (kind) =>
      write.mock.calls
        .map(([data]): unknown => data)
        .filter((data) => Buffer.isBuffer(data))
        .filter((data) => data.length > headBytes && data.readInt16BE(4) === kind)
        .map((data) => data.subarray(headBytes + data.readInt16BE(12))),
  };
}

/**
 * Makes brokers answer every DescribeConfigs request with this error, until the mocks of the test are restored. The
 * response has one topic and arrives in one chunk.
 */
export function refuseSettings(code: number): void {
  const asked = new Set<number>();
  // oxlint-disable-next-line typescript/unbound-method -- called for the socket in question, by Reflect.apply
  const { emit, write } = Socket.prototype;
  vi.spyOn(Socket.prototype, 'write').mockImplementation(function (this: Socket, ...args) {
    const [data] = args;
    if (
      Buffer.isBuffer(data) &&
      data.length > headBytes &&
      data.readInt16BE(4) === kafkaRequests.describeConfigs
    )
      asked.add(data.readInt32BE(8));
    return Reflect.apply(write, this, args);
  });
  vi.spyOn(Socket.prototype, 'emit').mockImplementation(function (this: Socket, ...args) {
    const [event, data]: readonly unknown[] = args;
    // Length, correlation id, throttle time, number of topics: then the error code of the first.
    if (event === 'data' && Buffer.isBuffer(data) && data.length > 18 && asked.delete(data.readInt32BE(4)))
      data.writeInt16BE(code, 16);
    return Reflect.apply(emit, this, args);
  });
}
