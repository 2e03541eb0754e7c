import { createHmac, randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { createSecureContext } from 'node:tls';
import type { CallOptions, ChannelCredentials, ClientUnaryCall, Metadata, ServiceError } from '@grpc/grpc-js';
import type { Status } from 'rocketmq-client-nodejs/proto/apache/rocketmq/v2/definition_pb.js';
import type { MessagingServiceClient } from 'rocketmq-client-nodejs/proto/apache/rocketmq/v2/service_grpc_pb.js';
import { clientLibrary } from './client-library.ts';
import type { RocketmqConnection } from './connection.ts';
import { isAway, NoAnswer, RefusedRequest } from './failure.ts';

/** An answer with a status. */
interface WithStatus {
  getStatus(): Status | undefined;
}

/** Sends one request through a client. */
export type Ask<Response> = (
  client: MessagingServiceClient,
  metadata: Metadata,
  options: CallOptions,
  done: (error: ServiceError | null, response: Response) => void,
) => ClientUnaryCall;

/** Limits the backoff to a second, so that a recovered proxy is noticed soon. */
const reconnect = {
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
} as const;
const largestAnswerBytes = 256 * 1_024 * 1_024;

/** Connections to proxies, one to each: opened on first use, replaced when one no longer answers. */
export class Proxies {
  readonly connection: RocketmqConnection;
  /** Unique per instance: the broker distinguishes clients by it. */
  readonly clientId = `${hostname()}@${randomUUID()}`;
  readonly #clients = new Map<string, MessagingServiceClient>();

  constructor(connection: RocketmqConnection) {
    this.connection = connection;
  }

  /**
   * Sends a request to one proxy, without retries.
   *
   * @throws NoAnswer
   */
  async ask<Response>(
    endpoint: string,
    request: Ask<Response>,
    timeoutMs = this.connection.requestTimeoutMs,
  ): Promise<Response> {
    const client = this.client(endpoint);
    try {
      return await new Promise<Response>((resolve, reject) => {
        request(client, this.metadata(), { deadline: Date.now() + timeoutMs }, (error, response) => {
          if (error === null) resolve(response);
          else reject(new NoAnswer(endpoint, error));
        });
      });
    } catch (error) {
      // A failed connection backs off, and a silent one may be dead: the next request needs a new one.
      if (isAway(error)) this.#drop(endpoint, client);
      throw error;
    }
  }

  /**
   * As {@link Proxies.ask}, but throws unless the status is success.
   *
   * @throws NoAnswer, RefusedRequest
   */
  async insist<Response extends WithStatus>(endpoint: string, request: Ask<Response>): Promise<Response> {
    const response = await this.ask(endpoint, request);
    assertDone(response.getStatus());
    return response;
  }

  /** The client of a proxy, for streams. */
  client(endpoint: string): MessagingServiceClient {
    const known = this.#clients.get(endpoint);
    if (known !== undefined) return known;
    const { services } = clientLibrary();
    const target = this.connection.through?.(endpoint) ?? endpoint;
    const opened = new services.MessagingServiceClient(target, this.#channelCredentials(), {
      ...reconnect,
      ...this.#serverName(),
      'grpc.max_receive_message_length': largestAnswerBytes,
      'grpc.max_send_message_length': largestAnswerBytes,
      // Subchannels of the global pool outlive their client, and a dead one would be reused.
      'grpc.use_local_subchannel_pool': 1,
    });
    this.#clients.set(endpoint, opened);
    return opened;
  }

  /** The metadata of a request: client, time and signature. */
  metadata(): Metadata {
    const { grpc } = clientLibrary();
    const { credentials, namespace } = this.connection;
    const metadata = new grpc.Metadata();
    const time = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '');
    const fields = {
      'x-mq-protocol': 'v2',
      'x-mq-client-id': this.clientId,
      'x-mq-date-time': time,
      'x-mq-request-id': randomUUID(),
      // Proxies do not know Node.js.
      'x-mq-language': 'HTTP',
      'x-mq-client-version': '5.0.0',
      ...(namespace !== '' && { 'x-mq-namespace': namespace }),
    };
    for (const [name, value] of Object.entries(fields)) metadata.set(name, value);
    if (credentials !== undefined) {
      const signature = createHmac('sha1', credentials.secretKey).update(time).digest('hex').toUpperCase();
      metadata.set(
        'authorization',
        `MQv2-HMAC-SHA1 Credential=${credentials.accessKey}, SignedHeaders=x-mq-date-time, Signature=${signature}`,
      );
    }
    return metadata;
  }

  /** Closes all connections. The next use opens new ones. */
  close(): void {
    for (const [endpoint, client] of this.#clients) this.#drop(endpoint, client);
  }

  #drop(endpoint: string, client: MessagingServiceClient): void {
    if (this.#clients.get(endpoint) === client) this.#clients.delete(endpoint);
    client.close();
  }

  #channelCredentials(): ChannelCredentials {
    const { credentials } = clientLibrary().grpc;
    const { tls } = this.connection;
    if (tls === false) return credentials.createInsecure();
    if (tls === true) return credentials.createSsl();
    const { checkServerIdentity, rejectUnauthorized } = tls;
    return credentials.createFromSecureContext(createSecureContext(tls), {
      ...(checkServerIdentity !== undefined && { checkServerIdentity }),
      ...(rejectUnauthorized !== undefined && { rejectUnauthorized }),
    });
  }

  #serverName(): Readonly<Record<string, string>> {
    const { tls } = this.connection;
    const name = typeof tls === 'object' ? tls.servername : undefined;
    return name === undefined
      ? {}
      : { 'grpc.ssl_target_name_override': name, 'grpc.default_authority': name };
  }
}

/** @throws RefusedRequest unless the status is success */
export function assertDone(status: Status | undefined): void {
  const refusal = status === undefined ? undefined : statusRefusal(status);
  if (refusal !== undefined) throw refusal;
}

/** The error for a status; `undefined` if it is success. */
export function statusRefusal(status: Status): RefusedRequest | undefined {
  const name = statusName(status);
  const done = name === 'OK' || name === 'MULTIPLE_RESULTS';
  return done ? undefined : new RefusedRequest(name, status.getMessage());
}

/** The name of a status in the protocol; its number if the stubs do not know it. */
export function statusName(status: Status): string {
  const code: number = status.getCode();
  const known = Object.entries(clientLibrary().definitions.Code);
  return known.find(([, number]) => Number(number) === code)?.[0] ?? `status ${code}`;
}
