import type { Secret } from '../../../core/ask-secret.ts';
import { isObject, object, type Table } from '../../../core/options/collections.ts';
import { callable, lazy } from '../../../core/options/lazy.ts';
import { asGiven, either, optional, shaped, text } from '../../../core/options/values.ts';

/** TLS with a CA, a name or a client certificate of its own, as Temporal's SDK takes it; PEM as text or bytes. */
export interface TemporalTls {
  /** The name that the server's certificate must have, also sent to the server (SNI). @defaultValue the host of the address */
  readonly serverNameOverride?: string;
  /** Certificate of the CA that signed the server's. @defaultValue the CAs that the system trusts */
  readonly serverRootCACertificate?: string | Uint8Array;
  /** Certificate and private key of this client, for mTLS. @defaultValue none */
  readonly clientCertPair?: { readonly crt: string | Uint8Array; readonly key: string | Uint8Array };
}

/** A `NativeConnection` of `@temporalio/worker`, by its shape. */
export interface TemporalConnection {
  /** Calls to the server, as Temporal's SDK makes them. */
  readonly workflowService: object;
  /** Sets the API key of later calls. */
  setApiKey(apiKey: string): Promise<void>;
  /** Closes the connection. */
  close(): Promise<void>;
}

/** Address and credentials of Temporal. */
export interface TemporalAddress {
  /** `host:port` */
  readonly address: string;
  readonly namespace: string;
  /** @defaultValue true with an API key, else false */
  readonly tls?: boolean | TemporalTls | undefined;
  readonly apiKey?: Secret | undefined;
  /** Used instead of a new one; a connection that a function returned is closed with the link. */
  readonly connection?:
    | TemporalConnection
    | (() => TemporalConnection | Promise<TemporalConnection>)
    | undefined;
}

const pem = shaped(
  'PEM, as text or bytes',
  (given): given is string | Uint8Array =>
    (typeof given === 'string' && given.includes('-----BEGIN ')) || given instanceof Uint8Array,
);

const tls = object(
  {
    serverNameOverride: optional(text()),
    serverRootCACertificate: optional(pem),
    clientCertPair: optional(object({ crt: pem, key: pem })),
  } satisfies Table<TemporalTls>,
  "TLS options of Temporal's SDK",
);

const connection = shaped(
  'a NativeConnection of @temporalio/worker',
  (given): given is TemporalConnection =>
    isObject(given) && 'workflowService' in given && 'setApiKey' in given,
);

/** The options by which Temporal is reached. */
export const temporalOptions = {
  address: lazy(text(), 'localhost:7233'),
  namespace: lazy(text(), 'default'),
  tls: optional(lazy(either([true, false], asGiven<TemporalTls>(tls)))),
  apiKey: optional(callable<Secret>(text())),
  connection: optional(callable<NonNullable<TemporalAddress['connection']>>(connection)),
} satisfies Table<TemporalAddress>;
