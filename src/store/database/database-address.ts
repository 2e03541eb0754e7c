import type { ConnectionOptions } from 'node:tls';
import type { Secret } from '../../core/ask-secret.ts';

/** How to reach a database, and as whom. */
export interface DatabaseAddress {
  /** `postgresql://user:password@host:port/database` */
  readonly url: string;
  /** TLS, in place of what the address says by `sslmode` and its like. @defaultValue what the address says */
  readonly ssl?: boolean | ConnectionOptions;
  /** In place of the password in the address. A function is asked once per connection. @defaultValue that in the address */
  readonly password?: Secret;
}
