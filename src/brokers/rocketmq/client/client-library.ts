import { createRequire } from 'node:module';
import type * as Grpc from '@grpc/grpc-js';
import type * as Durations from 'google-protobuf/google/protobuf/duration_pb.js';
import type * as Timestamps from 'google-protobuf/google/protobuf/timestamp_pb.js';
import type * as Definitions from 'rocketmq-client-nodejs/proto/apache/rocketmq/v2/definition_pb.js';
import type * as Services from 'rocketmq-client-nodejs/proto/apache/rocketmq/v2/service_grpc_pb.js';
import type * as Requests from 'rocketmq-client-nodejs/proto/apache/rocketmq/v2/service_pb.js';
import { loadedOnce } from '../../../core/packages.ts';

/** The parts of rocketmq-client-nodejs that are used: its gRPC stubs, and the packages that they depend on. */
export interface ClientLibrary {
  readonly grpc: typeof Grpc;
  readonly services: typeof Services;
  readonly requests: typeof Requests;
  readonly definitions: typeof Definitions;
  readonly durations: typeof Durations;
  readonly timestamps: typeof Timestamps;
}

/**
 * The stubs of the protocol.
 *
 * Producer and SimpleConsumer of 1.0.8 are not used, because they cannot follow the rules of `Transport` and `Source`: they
 * accept no CA; a shutdown throws while the proxy is unreachable, and leaves a timer that reconnects forever; a start never
 * ends if the stream breaks before the first settings; receiving cannot be canceled, omits the namespace, and ignores the
 * status of an acknowledgement; and a log file is written to the home folder.
 *
 * @throws OutboxError `OUTBOX_PACKAGE_MISSING`
 */
export const clientLibrary = loadedOnce('rocketmq', (): ClientLibrary => {
  const client = createRequire(__filename);
  // The copy of gRPC that the stubs use: `instanceof` fails across two copies.
  const theirs = createRequire(client.resolve('rocketmq-client-nodejs'));
  const proto = 'rocketmq-client-nodejs/proto/apache/rocketmq/v2';
  const wellKnown = 'google-protobuf/google/protobuf';
  // oxlint-disable typescript/no-unsafe-type-assertion -- require returns any
  return {
    grpc: theirs('@grpc/grpc-js') as typeof Grpc,
    services: client(`${proto}/service_grpc_pb.js`) as typeof Services,
    requests: client(`${proto}/service_pb.js`) as typeof Requests,
    definitions: client(`${proto}/definition_pb.js`) as typeof Definitions,
    durations: theirs(`${wellKnown}/duration_pb.js`) as typeof Durations,
    timestamps: theirs(`${wellKnown}/timestamp_pb.js`) as typeof Timestamps,
  };
  // oxlint-enable typescript/no-unsafe-type-assertion
});
