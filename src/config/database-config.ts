import type { ConnectionOptions } from 'node:tls';
import { object, type Table } from '../core/options/collections.ts';
import { callable, type Lazy, lazy } from '../core/options/lazy.ts';
import { tls } from '../core/options/tls.ts';
import { matching, optional, text, where, whole } from '../core/options/values.ts';
import type { DatabaseAddress } from '../store/database/database-address.ts';
import { readConfig } from './read-config.ts';

export type { DatabaseAddress };

/** Address and credentials of the outbox database. */
export interface DatabaseConfig {
  /** `postgresql://user:password@host:port/database`; parameters such as `sslmode` are supported. */
  readonly url: Lazy<string>;
  /**
   * TLS: `true` to trust the certificates that Node trusts, or options of `tls.connect` (`ca`, `cert`, `key`, `servername`,
   * `rejectUnauthorized`, …). Overrides the address. @defaultValue what the address says, else no TLS
   */
  readonly tls?: Lazy<boolean | ConnectionOptions>;
  /**
   * The password, instead of the one in the address. A function is called for every new connection, so that the password
   * may change while the process runs; if it throws, the server counts as unreachable. @defaultValue the one in the address
   */
  readonly password?: string | (() => string | Promise<string>);
  /**
   * Maximum number of connections of one relay, not counting its session, 1 or more; its lanes share them.
   * @defaultValue the lanes of the configuration + 6, or the lanes that it drains + 6 if there are more; at most 70
   */
  readonly connections?: number;
}

/** Whether a text is an address of PostgreSQL. */
export function isDatabaseUrl(given: string): boolean {
  return /^postgres(?:ql)?:\/\//.test(given);
}

/** The setting `database`. */
export const databaseOptions = object({
  url: lazy(where(text(), 'must be a postgresql:// address', isDatabaseUrl)),
  tls: optional(lazy(tls<ConnectionOptions>())),
  password: optional(callable<NonNullable<DatabaseConfig['password']>>(matching(/^/, 'a text'))),
  connections: optional(whole(1, undefined)),
} satisfies Table<DatabaseConfig>);

/**
 * Calls the settings that are functions, except the password, which is called for each connection.
 *
 * @throws OutboxError `OUTBOX_CONFIG_INVALID`; and whatever the functions throw, such as `OUTBOX_CONFIG_MISSING`
 */
export function databaseOf(config: DatabaseConfig): DatabaseAddress {
  const { password, tls: given, url } = readConfig(databaseOptions, config, 'database');
  return {
    url: url(),
    ...(given !== undefined && { tls: given() }),
    ...(password !== undefined && { password }),
  };
}
