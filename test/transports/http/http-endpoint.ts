import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { fromHttpHeaders } from '../../../src/brokers/http/client/http-headers.ts';
import type { DeliveredMessage } from '../../../src/testing.ts';
import type { Credentials } from '../../support/fixtures/certificates.ts';

/** Signs in tests. */
export const secret = `whsec_${Buffer.from('a secret of twenty-four bytes').toString('base64')}`;

/** What the endpoint says to a request; `undefined`: 204. */
export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Before anything is said. */
  readonly afterMs?: number;
}

/** A server that checks signatures with the standard's own library and keeps what it has accepted. */
export interface HttpEndpoint {
  readonly port: number;
  readonly received: readonly DeliveredMessage[];
  /** Every request, also those that were refused. */
  readonly requests: readonly IncomingMessage[];
  /** How many requests were under way at once at most. */
  readonly crowd: () => number;
  /** Listens no more, and ends open connections. */
  stop(): Promise<void>;
  /** Listens again, on the same port. */
  start(): Promise<void>;
}

export interface EndpointOptions {
  /** Decides by the body and headers. @defaultValue everything is accepted */
  readonly answer?: (request: IncomingMessage, body: string) => Answer | undefined;
  readonly tls?: Credentials;
}

/** Starts an endpoint on a free port of this machine. */
export async function httpEndpoint({
  answer = () => undefined,
  tls,
}: EndpointOptions = {}): Promise<HttpEndpoint> {
  const received: DeliveredMessage[] = [];
  const requests: IncomingMessage[] = [];
  const webhook = new Webhook(secret);
  let open = 0;
  let crowd = 0;
  const listener: RequestListener = (request, response) => {
    requests.push(request);
    open += 1;
    crowd = Math.max(crowd, open);
    response.once('close', () => (open -= 1));
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      const { status = 204, headers, body: said, afterMs = 0 } = answer(request, body) ?? {};
      if (status < 300) received.push(accepted(webhook, request, body));
      setTimeout(() => response.writeHead(status, headers).end(said), afterMs);
    });
  };
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  server.on('tlsClientError', () => undefined);
  const port = await listen(server, 0);
  return {
    port,
    received,
    requests,
    crowd: () => crowd,
    async stop() {
      server.closeAllConnections();
      if (server.listening) await new Promise((done) => server.close(done));
    },
    async start() {
      await listen(server, port);
    },
  };
}

function accepted(webhook: Webhook, request: IncomingMessage, body: string): DeliveredMessage {
  const names = request.headers as Record<string, string>;
  if (body !== '') webhook.verify(body, names, { jsonParse: false });
  const { key, headers } = fromHttpHeaders(Object.entries(names));
  const id = headers['webhook-id'] ?? '';
  return { id, key, headers, payload: body, partition: null, offset: null };
}

async function listen(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return (server.address() as AddressInfo).port;
}
