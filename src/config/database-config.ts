import type { ConnectionOptions } from 'node:tls';
import { z } from 'zod';
import { type Lazy, read } from '../core/lazy.ts';
import { tlsOptionNames, unknownOption } from '../core/option-names.ts';
import type { DatabaseAddress } from '../store/database/database-address.ts';
import { checkSettings, lazily, switchOr } from './check-settings.ts';

export type { DatabaseAddress };

/** How to reach the database of the outbox, and as whom. */
export interface DatabaseConfig {
  /** `postgresql://user:password@host:port/database`; `sslmode` and its like are understood. */
  readonly url: Lazy<string>;
  /**
   * TLS: `true` for the certificates that Node trusts, or options of `tls.connect` (`ca`, `cert`, `key`, `servername`,
   * `rejectUnauthorized`, …). It takes the place of what the address says. @defaultValue what the address says, else no TLS
   */
  readonly ssl?: Lazy<boolean | ConnectionOptions>;
  /**
   * The password, in place of that in the address. A function is asked at every new connection, so that a password may
   * change while the process runs; what it throws counts as a server that is away. @defaultValue that in the address
   */
  readonly password?: string | (() => string | Promise<string>);
  /**
   * Most connections of one relay beside its session, 1 or more; its lanes share them. @defaultValue the lanes of the
   * configuration + 6, or the lanes that it drains + 6 where those have become more
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

/** The form of the setting `database`; what is a function is checked when it has answered. */
export const databaseShape = z.strictObject({
  url: lazily(z.string().regex(/^postgres(ql)?:\/\//, 'is not a postgresql:// address')),
  ssl: lazily(ssl).optional(),
  password: lazily(z.string()).optional(),
  connections: z.int().min(1).optional(),
});

/**
 * Asks what is given as a function, but for the password, which is asked for each connection.
 *
 * @throws OutboxError `OUTBOX_CONFIG_INVALID`; and whatever the functions throw, such as `OUTBOX_CONFIG_MISSING`
 */
export function databaseOf({ url, ssl: tls, password, ...others }: DatabaseConfig): DatabaseAddress {
  const settled = { url: read(url), ...(tls !== undefined && { ssl: read(tls) }) };
  checkSettings(databaseShape, { ...others, ...settled, password }, 'database');
  return { ...settled, ...(password !== undefined && { password }) };
}
