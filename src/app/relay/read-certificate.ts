import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectSocket, isIP, type Socket } from 'node:net';
import { type ConnectionOptions, connect } from 'node:tls';
import type { SecuredServer } from '../../brokers/secured-server.ts';

/** A server, and how TLS begins there. */
export interface AskedCertificate extends SecuredServer {
  /** `postgres`: TLS begins after a question in plain bytes. @defaultValue at once */
  readonly begins?: 'postgres';
}

/** Of the connection and the handshake together. */
const withinMs = 5_000;
/** The message SSLRequest of PostgreSQL, and what a server answers that is ready for TLS. */
const sslRequest = Buffer.from([0, 0, 0, 8, 4, 0xd2, 0x16, 0x2f]);
const sslAnswer = 'S'.codePointAt(0);

/**
 * When the certificate of a server expires, by a handshake after which nothing is sent. A certificate that is not trusted, or has
 * expired, is read nevertheless.
 */
export async function readCertificate({ begins, host, port, tls }: AskedCertificate): Promise<Date> {
  const signal = AbortSignal.timeout(withinMs);
  const socket = connectSocket({ host, port, ...(tls.lookup !== undefined && { lookup: tls.lookup }) });
  try {
    await once(socket, 'connect', { signal });
    if (begins === 'postgres') await askForTls(socket, signal);
    const secured = connect({ ...named(host, tls), socket, rejectUnauthorized: false });
    secured.on('error', () => undefined);
    await once(secured, 'secureConnect', { signal });
    return new Date(secured.getPeerCertificate().valid_to);
  } finally {
    socket.destroy();
  }
}

/** When the certificate that a client shows expires; `undefined`: it shows none. Of a chain the first is the client's. */
export function clientCertificateEnd({ cert }: ConnectionOptions): Date | undefined {
  const [first] = Array.isArray(cert) ? cert : [cert];
  return first === undefined ? undefined : new Date(new X509Certificate(first).validTo);
}

/** The name by which the server chooses its certificate: that of the host, as the clients of brokers do. */
function named(host: string, tls: ConnectionOptions): ConnectionOptions {
  return tls.servername !== undefined || isIP(host) !== 0 ? tls : { ...tls, servername: host };
}

async function askForTls(socket: Socket, signal: AbortSignal): Promise<void> {
  socket.write(sslRequest);
  const events: readonly unknown[] = await once(socket, 'data', { signal });
  const [answer] = events;
  if (!(answer instanceof Buffer) || answer[0] !== sslAnswer) throw new Error('The server has no TLS.');
}
