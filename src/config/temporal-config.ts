import { z } from 'zod';
import { type Lazy, read } from '../core/lazy.ts';
import type { TemporalAddress, TemporalConnection, TemporalTls } from '../temporal/temporal-address.ts';
import { checkSettings, lazily, switchOr } from './check-settings.ts';

export type { TemporalConnection, TemporalTls };

/** How to reach Temporal, and as whom. */
export interface TemporalConfig {
  /** `host:port`. @defaultValue `localhost:7233` */
  readonly address?: Lazy<string>;
  /** The namespace, which must exist. @defaultValue `default` */
  readonly namespace?: Lazy<string>;
  /** Where its UI is, for links of `show`. @defaultValue `http://localhost:8233` where Temporal is at `localhost:7233` */
  readonly ui?: Lazy<string>;
  /**
   * TLS: `true` for the certificates that the system trusts, or what Temporal's SDK takes.
   * @defaultValue `true` with an API key, else no TLS
   */
  readonly tls?: Lazy<boolean | TemporalTls>;
  /**
   * API key, of Temporal Cloud for example. A function is asked at every connection and every ten seconds from then on, so
   * that a key may change while the process runs; let it answer from memory. @defaultValue none
   */
  readonly apiKey?: string | (() => string | Promise<string>);
  /**
   * A connection that you make, in place of `tls` and `apiKey`: for proxies, metadata, and all else that Temporal's SDK can
   * do. One that is given stays open, and is yours to close; one that a function has made is closed at the end.
   * `address` still names the server in texts. @defaultValue one is made
   */
  readonly connection?: TemporalConnection | (() => TemporalConnection | Promise<TemporalConnection>);
}

const isPem = (value: unknown): boolean =>
  (typeof value === 'string' && value.includes('-----BEGIN ')) || value instanceof Uint8Array;
const pem = z.custom<string | Uint8Array>(isPem, 'is not a PEM text, nor the bytes of one');

const tls = switchOr(
  z.strictObject({
    serverNameOverride: z.string().min(1).optional(),
    serverRootCACertificate: pem.optional(),
    clientCertPair: z.strictObject({ crt: pem, key: pem }).optional(),
  }),
);

const connection = z.custom<TemporalConnection>(
  (value) =>
    typeof value === 'object' && value !== null && 'workflowService' in value && 'setApiKey' in value,
  'is not a NativeConnection of @temporalio/worker',
);

/** The form of the setting `temporal`; what is a function is checked when it has answered. */
export const temporalShape = z
  .strictObject({
    address: lazily(z.string().min(1)).optional(),
    namespace: lazily(z.string().min(1)).optional(),
    ui: lazily(z.string().regex(/^https?:\/\//, 'is not an http:// address')).optional(),
    tls: lazily(tls).optional(),
    apiKey: lazily(z.string().min(1)).optional(),
    connection: lazily(connection).optional(),
  })
  .refine((given) => given.connection === undefined || (given.tls ?? given.apiKey) === undefined, {
    message: 'has a connection, which is made already, beside "tls" or "apiKey"',
  });

/** Temporal, with all that is known before a connection. */
export interface SettledTemporal extends TemporalAddress {
  readonly ui: string | undefined;
}

/**
 * Asks what is given as a function, but for keys and connections, and fills in the defaults.
 *
 * @throws OutboxError `OUTBOX_CONFIG_INVALID`; and whatever the functions throw, such as `OUTBOX_CONFIG_MISSING`
 */
export function temporalOf(given: TemporalConfig = {}): SettledTemporal {
  const settled = {
    address: read(given.address ?? 'localhost:7233'),
    namespace: read(given.namespace ?? 'default'),
    ...(given.ui !== undefined && { ui: read(given.ui) }),
    ...(given.tls !== undefined && { tls: read(given.tls) }),
  };
  checkSettings(temporalShape, settled, 'temporal');
  const { apiKey, connection: made } = given;
  return { ui: undefined, ...settled, apiKey, connection: made };
}
