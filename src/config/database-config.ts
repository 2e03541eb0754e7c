import type { ConnectionOptions } from 'node:tls';
import { z } from 'zod';
import { type Lazy, read } from '../core/options/lazy.ts';
import { unknownOption } from '../core/options/option-names.ts';
import { tlsOptionNames } from '../core/options/tls.ts';
import type { DatabaseAddress } from '../store/database/database-address.ts';
import { checkSettings, lazily, switchOr } from './check-settings.ts';

export type { DatabaseAddress };

/** Address and credentials of the outbox database. */
export interface DatabaseConfig {
  /** `postgresql://user:password@host:port/database`; parameters such as `sslmode` are supported. */
  readonly url: Lazy<string>;
  /**
   * TLS: `true` to trust the certificates that Node trusts, or options of `tls.connect` (`ca`, `cert`, `key`, `servername`,
   * `rejectUnauthorized`, …). Overrides the address. @defaultValue what the address says, else no TLS
   */
  readonly ssl?: Lazy<boolean | ConnectionOptions>;
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

const ssl = switchOr(
  z
    .custom<object>((value) => typeof value === 'object' && value !== null, 'is not true, false or an object')
    .superRefine((given, context) => {
      const option = unknownOption(given, tlsOptionNames);
      if (option === undefined) return;
      context.addIssue({ code: 'custom', message: 'is not an option of tls.connect', path: [option] });
    }),
);

/** Whether a text is an address of PostgreSQL. */
export function isDatabaseUrl(text: string): boolean {
  return /^postgres(?:ql)?:\/\//.test(text);
}

/** The shape of the setting `database`; the result of a function is checked when it is called. */
export const databaseShape = z.strictObject({
  url: lazily(z.string().refine(isDatabaseUrl, 'is not a postgresql:// address')),
  ssl: lazily(ssl).optional(),
  password: lazily(z.string()).optional(),
  connections: z.int().min(1).optional(),
});

/**
 * Calls the settings that are functions, except the password, which is called for each connection.
 *
 * @throws OutboxError `OUTBOX_CONFIG_INVALID`; and whatever the functions throw, such as `OUTBOX_CONFIG_MISSING`
 */
export function databaseOf({ url, ssl: tls, password, ...others }: DatabaseConfig): DatabaseAddress {
  const settled = { url: read(url), ...(tls !== undefined && { ssl: read(tls) }) };
  checkSettings(databaseShape, { ...others, ...settled, password }, 'database');
  return { ...settled, ...(password !== undefined && { password }) };
}
