import { z } from 'zod';
import type {
  TemporalAddress,
  TemporalConnection,
  TemporalTls,
} from '../brokers/workflow/client/temporal-address.ts';
import { type Lazy, read } from '../core/options/lazy.ts';
import { checkSettings, lazily, switchOr } from './check-settings.ts';

export type { TemporalConnection, TemporalTls };

/** Address and credentials of Temporal. */
export interface TemporalConfig {
  /** `host:port`. @defaultValue `localhost:7233` */
  readonly address?: Lazy<string>;
  /** The namespace, which must exist. @defaultValue `default` */
  readonly namespace?: Lazy<string>;
  /** Address of its UI, for the links of `show`. @defaultValue `http://localhost:8233` if Temporal is at `localhost:7233` */
  readonly ui?: Lazy<string>;
  /**
   * TLS: `true` to trust the certificates that the system trusts, or the TLS options of Temporal's SDK.
   * @defaultValue `true` with an API key, else no TLS
   */
  readonly tls?: Lazy<boolean | TemporalTls>;
  /**
   * API key, for example of Temporal Cloud. A function is called for every connection and every ten seconds after that, so
   * that the key may change while the process runs; it should return a cached key. @defaultValue none
   */
  readonly apiKey?: string | (() => string | Promise<string>);
  /**
   * Your own connection, instead of `tls` and `apiKey`: for proxies, metadata, and other features of Temporal's SDK. You
   * close a connection that you pass; one that a function returned is closed at the end. `address` still names the server in
   * messages. @defaultValue a new connection
   */
  readonly connection?: TemporalConnection | (() => TemporalConnection | Promise<TemporalConnection>);
}

const isPem = (value: unknown): boolean =>
  (typeof value === 'string' && value.includes('-----BEGIN ')) || value instanceof Uint8Array;
const pem = z.custom<string | Uint8Array>(isPem, 'is not PEM, as text or bytes');

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

/** The shape of the setting `temporal`; the result of a function is checked when it is called. */
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
    message: 'has both a connection and "tls" or "apiKey"',
  });

/** The settings of Temporal, with everything that is known before a connection. */
export interface SettledTemporal extends TemporalAddress {
  readonly ui: string | undefined;
}

/**
 * Calls the settings that are functions, except keys and connections, and fills in the defaults.
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
