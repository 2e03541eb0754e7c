import { once } from 'node:events';
import { isIP } from 'node:net';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { rest } from '../../../core/rest.ts';
import type { TemporalAddress } from './temporal-address.ts';

const handshakeWithinMs = 2_000;
/** How long to wait for an alert after the handshake: a server that refuses a client certificate sends it only then. */
const alertWithinMs = 500;

/**
 * Finds out whether TLS is why a server ends connections. A client that writes at once, such as gRPC's, may lose the alert in
 * which the server gives the reason; this one writes nothing.
 *
 * @returns `undefined` if TLS is not the reason
 */
export async function tlsReason(target: TemporalAddress): Promise<string | undefined> {
  const socket = connect(handshakeOf(target));
  const failed = once(socket, 'close').then(() => undefined);
  let alert: string | undefined;
  socket.on('error', (error: Error) => {
    alert = /alert ([a-z ]+)/.exec(error.message)?.[1];
  });
  try {
    const shaken = await Promise.race([
      once(socket, 'secureConnect').then(() => true),
      failed.then(() => false),
      rest(handshakeWithinMs, undefined, { ref: false }).then(() => false),
    ]).catch(() => false);
    if (!shaken) return alert && `it ended the handshake (${alert.trim()})`;
    if (!usesTls(target)) return 'it requires TLS, but the setting temporal.tls does not enable it';
    return await refusalOf(socket, () => alert);
  } finally {
    socket.destroy();
  }
}

async function refusalOf(socket: TLSSocket, alert: () => string | undefined): Promise<string | undefined> {
  const ended = await Promise.race([
    new Promise<boolean>((resolve) => {
      socket.once('close', () => resolve(true));
      socket.once('data', () => resolve(false));
    }),
    rest(alertWithinMs, undefined, { ref: false }).then(() => false),
  ]);
  if (!ended) return undefined;
  const said = alert()?.trim() ?? 'no reason given';
  return `it ended the connection after the handshake (${said}); it may require a client certificate, or another one: temporal.tls.clientCertPair`;
}

function usesTls({ tls, apiKey }: TemporalAddress): boolean {
  return tls === undefined ? apiKey !== undefined : tls !== false;
}

/** Options of the handshake. The server's certificate is not verified here: the SDK's connection has done that. */
function handshakeOf({ address, tls }: TemporalAddress): ConnectionOptions {
  const [, host = 'localhost', port = '7233'] = /^\[?(.*?)\]?(?::(\d+))?$/.exec(address) ?? [];
  const { serverNameOverride: servername = host, clientCertPair: pair } = typeof tls === 'object' ? tls : {};
  const bytes = (pem: string | Uint8Array): string | Buffer =>
    typeof pem === 'string' ? pem : Buffer.from(pem);
  return {
    host,
    port: Number(port),
    ALPNProtocols: ['h2'],
    rejectUnauthorized: false,
    ...(isIP(servername) === 0 && { servername }),
    ...(pair !== undefined && { cert: bytes(pair.crt), key: bytes(pair.key) }),
  };
}
