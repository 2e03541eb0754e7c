import type { ConnectionOptions } from 'node:tls';
import type { Secret } from '../../core/ask-secret.ts';

/** Address and credentials of a database. */
export interface DatabaseAddress {
  /** `postgresql://user:password@host:port/database` */
  readonly url: string;
  /** TLS; overrides parameters of the address such as `sslmode`. @defaultValue what the address says */
  readonly tls?: boolean | ConnectionOptions;
  /** Overrides the password in the address. A function is called once per connection. @defaultValue the one in the address */
  readonly password?: Secret;
}
