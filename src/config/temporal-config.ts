import {
  type TemporalAddress,
  type TemporalConnection,
  type TemporalTls,
  temporalOptions,
} from '../brokers/workflow/client/temporal-address.ts';
import { object, type Table } from '../core/options/collections.ts';
import { callable, type Lazy, lazy } from '../core/options/lazy.ts';
import { matching, optional, text, where } from '../core/options/values.ts';
import { readConfig } from './read-config.ts';

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

/** The setting `temporal`. */
export const temporalSettings = where(
  object({
    ...temporalOptions,
    // With a type of this file: an inferred one would make the declarations of senders import those of transports.
    apiKey: optional(callable<NonNullable<TemporalConfig['apiKey']>>(text())),
    ui: optional(lazy(matching(/^https?:\/\//, 'an http:// or https:// address'))),
  } satisfies Table<TemporalConfig>),
  'has a connection, which cannot be combined with "tls" or "apiKey"',
  ({ apiKey, connection, tls }) => connection === undefined || (tls ?? apiKey) === undefined,
);

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
  const { address, namespace, tls, ui, ...kept } = readConfig(temporalSettings, given, 'temporal');
  return { address: address(), namespace: namespace(), ui: ui?.(), tls: tls?.(), ...kept };
}
