import type { ConnectionOptions } from 'node:tls';
import { object, type ReadTable, type Table } from '../../../core/options/collections.ts';
import { type Lazy, lazy } from '../../../core/options/lazy.ts';
import type { OptionTable } from '../../../core/options/option-table.ts';
import { type ServerUrl, serverUrl } from '../../../core/options/servers.ts';
import { tls } from '../../../core/options/tls.ts';
import { asGiven, matching, optional, secretText, text, where } from '../../../core/options/values.ts';

/** A user of Redis and its password. */
export interface RedisCredentials {
  /** Name of the user. @defaultValue `default`, which every server has */
  readonly username?: string;
  /** Its password, or the one of `requirepass`. */
  readonly password: string;
}

/** How to reach a single Redis server; a cluster is refused with `OUTBOX_SERVER_UNFIT`. */
export interface RedisServerOptions {
  /**
   * `redis://host:port/database`, or `rediss://` for TLS; it may contain user and password. The default port is 6379, the
   * default database 0.
   */
  readonly url: Lazy<string>;
  /** `true` for TLS with the certificates that Node trusts, or options of `tls.connect`. @defaultValue according to the URL */
  readonly tls?: Lazy<boolean | ConnectionOptions>;
  /** Used instead of those in the URL; a function is called for every new connection. @defaultValue those of the URL */
  readonly credentials?: Lazy<RedisCredentials>;
  /** The name that the server shows in `CLIENT LIST`, without spaces. @defaultValue `temporal-outbox` */
  readonly clientName?: string;
}

/** Where a connection goes. */
export interface RedisTarget {
  readonly host: string;
  readonly port: number;
  readonly database: number;
  readonly tls: boolean | ConnectionOptions;
  readonly credentials: RedisCredentials | undefined;
}

/** A server with validated options. Options given as functions are called on every read. */
export interface RedisServer {
  readonly target: RedisTarget;
  /** `host:port` for messages and logs: without credentials. */
  readonly endpoint: string;
  readonly clientName: string;
}

const byUrl = serverUrl(
  [
    ['redis', 6379],
    ['rediss', 6379],
  ],
  'redis://host:port or rediss://host:port',
);
const numbered = where(byUrl, 'must name its database by a number', ({ path }) => /^\d{0,9}$/.test(path));
const url = where(
  numbered,
  'must not name a user without a password',
  ({ username, password }) => username === '' || password !== '',
);

/** The options of a server, for the tables of those who connect to one. */
export const serverOptions = {
  url: lazy(url),
  tls: optional(lazy(tls<ConnectionOptions>())),
  credentials: optional(
    lazy(
      asGiven<RedisCredentials>(
        object(
          { username: optional(text()), password: secretText() } satisfies Table<RedisCredentials>,
          'an object with a password',
        ),
      ),
    ),
  ),
  // Redis would refuse these names only after connecting.
  clientName: matching(/^[!-~]+$/, 'a text of printable ASCII characters without spaces', 'temporal-outbox'),
} satisfies Table<RedisServerOptions>;

/**
 * Reads options that {@link serverOptions} are among, and says how their server is reached. What is no function is checked at
 * once.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID`; it never contains the URL or the password
 */
export function redisServer<Settings extends ReadTable<typeof serverOptions>>(
  { invalid, read }: OptionTable<Settings>,
  options: RedisServerOptions,
): Settings & { readonly server: RedisServer } {
  const settings = read(options);
  const { clientName, credentials, tls: given, url: urlOf } = settings;
  const tlsOf = ({ secure }: ServerUrl): boolean | ConnectionOptions => {
    const asked = given?.() ?? secure;
    if (asked === false && secure) throw invalid('tls', 'must not be false for a rediss:// URL');
    return asked;
  };
  if (typeof options.url !== 'function' && typeof options.tls !== 'function') tlsOf(urlOf());
  const server: RedisServer = {
    clientName,
    get endpoint() {
      const { host, port } = urlOf();
      return `${host.includes(':') ? `[${host}]` : host}:${port}`;
    },
    get target() {
      const now = urlOf();
      const { host, password, path, port, username } = now;
      const inUrl = password === '' ? undefined : { password, ...(username !== '' && { username }) };
      return {
        host,
        port,
        database: Number(path),
        tls: tlsOf(now),
        credentials: credentials === undefined ? inUrl : credentials(),
      };
    },
  };
  return { ...settings, server };
}
