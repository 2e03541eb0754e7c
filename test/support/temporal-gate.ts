import { once } from 'node:events';
import {
  type ClientHttp2Session,
  connect,
  createSecureServer,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { inject } from 'vitest';
import type { Credentials } from './certificates.ts';

export interface GateOptions {
  readonly server: Credentials;
  /** The authority of the clients that may come in; `undefined`: anybody. */
  readonly clientsOf?: string;
  /** Says whether a call with this header may pass. @defaultValue all may */
  readonly admits?: (authorization: string | undefined) => boolean;
}

/** TLS in front of the Temporal server of the test run, which has none. */
export interface TemporalGate {
  /** `127.0.0.1:port` */
  readonly address: string;
  /** Calls that were let through. */
  readonly passed: () => number;
}

/** gRPC's `UNAUTHENTICATED`. */
const unauthenticated = { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '16' };

/** Opens the gate; it closes with the test. */
export async function temporalGate(
  context: { readonly onTestFinished: (work: () => Promise<void>) => void },
  { server: credentials, clientsOf, admits = () => true }: GateOptions,
): Promise<TemporalGate> {
  const upstream = connect(`http://${inject('temporalAddress')}`);
  upstream.on('error', () => undefined);
  const sessions = new Set<ServerHttp2Session>();
  let passed = 0;
  const server = createSecureServer({
    ...credentials,
    ...(clientsOf !== undefined && { ca: clientsOf, requestCert: true, rejectUnauthorized: true }),
  });
  server.on('session', (session) => {
    sessions.add(session);
    session.on('error', () => undefined);
    session.on('close', () => sessions.delete(session));
  });
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    if (!admits(headers.authorization)) {
      stream.respond({ ...unauthenticated, 'grpc-message': 'Request unauthorized.' }, { endStream: true });
      return;
    }
    passed += 1;
    passOn(upstream, stream, headers);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.onTestFinished(async () => {
    server.close();
    for (const session of sessions) session.destroy();
    upstream.destroy();
  });
  const { port } = server.address() as AddressInfo;
  return { address: `127.0.0.1:${port}`, passed: () => passed };
}

function passOn(upstream: ClientHttp2Session, stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
  const {
    ':path': path,
    ':authority': _authority,
    ':scheme': _scheme,
    ':method': _method,
    ...others
  } = headers;
  const request = upstream.request({ ...others, ':path': path, ':method': 'POST' });
  let trailers: IncomingHttpHeaders = {};
  request.on('trailers', (given: IncomingHttpHeaders) => (trailers = withoutPseudo(given)));
  request.on('response', (response: IncomingHttpHeaders & IncomingHttpStatusHeader) => {
    if (stream.destroyed) return;
    stream.respond(
      { ...withoutPseudo(response), ':status': response[':status'] ?? 200 },
      { waitForTrailers: true },
    );
    stream.on('wantTrailers', () => stream.sendTrailers(trailers));
    request.pipe(stream);
  });
  request.on('error', () => stream.destroy());
  stream.on('close', () => request.destroy());
  stream.pipe(request);
}

function withoutPseudo(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith(':')));
}
