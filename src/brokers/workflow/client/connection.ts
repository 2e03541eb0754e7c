import { NativeConnection, type TLSConfig } from '@temporalio/worker';
import { askSecret } from '../../../core/ask-secret.ts';
import { OutboxError } from '../../../core/errors.ts';
import { renewApiKey } from './api-key.ts';
import { connectFailure } from './connect-failure.ts';
import type { TemporalAddress, TemporalConnection, TemporalTls } from './temporal-address.ts';

/** A connection to Temporal, and how to close it. */
export interface TemporalLink {
  readonly connection: NativeConnection;
  /** Closes the connection, unless the user passed it. Workers must have ended. */
  close(): Promise<void>;
}

/** Between calls for an API key that may change. */
const askKeyEveryMs = 10_000;

/**
 * Connects, or takes the connection that was given.
 *
 * @param everyMs how often a function is called for its API key
 * @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE` if it does not answer, and for an invalid address;
 * `OUTBOX_TLS_FAILED`, `OUTBOX_SERVER_REFUSED`, `OUTBOX_CONFIG_INVALID`
 */
export async function connectTemporal(
  target: TemporalAddress,
  everyMs = askKeyEveryMs,
): Promise<TemporalLink> {
  if (target.connection !== undefined) return givenLink(target, target.connection);
  const { address, tls, apiKey: given } = target;
  const apiKey = given === undefined ? undefined : await askSecret('temporal.apiKey', given);
  const options = {
    address,
    grpcCompression: { codec: 'none' as const },
    ...(tls !== undefined && { tls: typeof tls === 'boolean' ? tls : asSdk(tls) }),
    ...(apiKey !== undefined && { apiKey }),
  };
  const connection = await NativeConnection.connect(options).catch(async (error: unknown) => {
    throw await connectFailure(target, error);
  });
  if (typeof given !== 'function') return { connection, close: () => connection.close() };
  const renewing = renewApiKey(connection, given, apiKey ?? '', everyMs);
  return {
    connection,
    close: async () => {
      renewing.stop();
      await connection.close();
    },
  };
}

async function givenLink(
  target: TemporalAddress,
  given: NonNullable<TemporalAddress['connection']>,
): Promise<TemporalLink> {
  const made = typeof given === 'function';
  const connection = made ? await madeBy(target, given) : given;
  if (!(connection instanceof NativeConnection)) {
    throw new OutboxError(
      'OUTBOX_CONFIG_INVALID',
      'The setting temporal.connection is not a NativeConnection of the package @temporalio/worker that temporal-outbox uses.',
      { details: { setting: 'temporal.connection' } },
    );
  }
  return { connection, close: async () => (made ? connection.close() : undefined) };
}

async function madeBy(
  target: TemporalAddress,
  make: () => TemporalConnection | Promise<TemporalConnection>,
): Promise<TemporalConnection> {
  try {
    return await make();
  } catch (error) {
    throw await connectFailure(target, error);
  }
}

function asSdk({ serverNameOverride, serverRootCACertificate, clientCertPair }: TemporalTls): TLSConfig {
  return {
    ...(serverNameOverride !== undefined && { serverNameOverride }),
    ...(serverRootCACertificate !== undefined && {
      serverRootCACertificate: bytesOf(serverRootCACertificate),
    }),
    ...(clientCertPair !== undefined && {
      clientCertPair: { crt: bytesOf(clientCertPair.crt), key: bytesOf(clientCertPair.key) },
    }),
  };
}

function bytesOf(pem: string | Uint8Array): Uint8Array {
  return typeof pem === 'string' ? Buffer.from(pem) : pem;
}
