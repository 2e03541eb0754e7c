import type { Secret } from '../../../core/ask-secret.ts';

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
