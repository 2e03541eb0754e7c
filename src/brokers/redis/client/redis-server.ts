import type { ConnectionOptions } from 'node:tls';
import { OutboxError } from '../../../core/errors.ts';
import { isObject } from '../../../core/options/collections.ts';
import { type Lazy, read } from '../../../core/options/lazy.ts';
import { assertTlsOptions, type RefuseOne, unknownOption } from '../../../core/options/option-names.ts';

/** A user of Redis and its password. */
export interface RedisCredentials {
  /** Name of the user. @defaultValue `default`, which every server has */
  readonly username?: string;
  /** Its password, or the one of `requirepass`. */
  readonly password: string;
}

/** How to reach a single Redis server; clusters are not supported. */
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

/** The names of {@link RedisServerOptions}. */
export const serverOptionNames: readonly string[] = ['url', 'tls', 'credentials', 'clientName'];

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

const defaultPort = 6379;

/**
 * Validates how a server is reached; options that are not functions are checked at once.
 *
 * @param maker the function that takes the options, for example `redisStream()`
 * @throws {@link OutboxError} `OUTBOX_OPTION_INVALID`; it never contains the URL or the password
 */
export function redisServer(maker: string, options: RedisServerOptions): RedisServer {
  const { clientName = 'temporal-outbox', credentials, tls, url } = options;
  const refuse = (option: string, what: string): OutboxError => invalid(maker, option, what);
  // Redis would refuse these names only after connecting.
  if (typeof clientName !== 'string' || !/^[!-~]+$/.test(clientName))
    throw refuse('clientName', 'must be a text of printable ASCII characters without spaces');
  const placeOf = (): Place => parsePlace(read(url), refuse);
  const tlsOf = (place: Place): boolean | ConnectionOptions =>
    tls === undefined ? place.secure : checkedTls(read(tls), place.secure, refuse);
  const credentialsOf = (place: Place): RedisCredentials | undefined =>
    credentials === undefined ? place.credentials : checkedCredentials(read(credentials), refuse);
  const place = typeof url === 'function' ? undefined : placeOf();
  if (tls !== undefined && typeof tls !== 'function') checkedTls(tls, place?.secure ?? false, refuse);
  if (credentials !== undefined && typeof credentials !== 'function') checkedCredentials(credentials, refuse);
  return {
    clientName,
    get endpoint() {
      const { host, port } = placeOf();
      return `${host.includes(':') ? `[${host}]` : host}:${port}`;
    },
    get target() {
      const now = placeOf();
      const { host, port, database } = now;
      return { host, port, database, tls: tlsOf(now), credentials: credentialsOf(now) };
    },
  };
}

/** The parts of a URL. */
interface Place {
  readonly host: string;
  readonly port: number;
  readonly database: number;
  readonly secure: boolean;
  readonly credentials: RedisCredentials | undefined;
}

function parsePlace(url: unknown, refuse: RefuseOne): Place {
  const parsed = typeof url === 'string' && URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !/^rediss?:$/.test(parsed.protocol) || parsed.hostname === '')
    throw refuse('url', 'must be redis://host:port or rediss://host:port');
  const database = parsed.pathname.replace(/^\//, '');
  if (!/^\d{0,9}$/.test(database)) throw refuse('url', 'must name its database by a number');
  if (parsed.search !== '' || parsed.hash !== '')
    throw refuse('url', 'must end with the host, the port or the number of a database');
  const username = decoded(parsed.username, refuse);
  const password = decoded(parsed.password, refuse);
  if (username !== '' && password === '') throw refuse('url', 'must not name a user without a password');
  return {
    host: parsed.hostname.replaceAll(/^\[|\]$/g, ''),
    port: parsed.port === '' ? defaultPort : Number(parsed.port),
    database: Number(database),
    secure: parsed.protocol === 'rediss:',
    credentials: password === '' ? undefined : { password, ...(username !== '' && { username }) },
  };
}

function decoded(text: string, refuse: RefuseOne): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw refuse('url', 'must have a % in user and password written as %25');
  }
}

function checkedTls(
  tls: boolean | ConnectionOptions,
  secure: boolean,
  refuse: RefuseOne,
): boolean | ConnectionOptions {
  if (tls === false && secure) throw refuse('tls', 'must not be false for a rediss:// URL');
  assertTlsOptions('tls', tls, refuse);
  return tls;
}

function checkedCredentials(credentials: RedisCredentials, refuse: RefuseOne): RedisCredentials {
  if (!isObject(credentials)) throw refuse('credentials', 'must be an object with a password');
  const unknown = unknownOption(credentials, ['username', 'password']);
  if (unknown !== undefined) throw refuse(`credentials.${unknown}`, 'is unknown');
  const { password, username } = credentials;
  if (typeof password !== 'string' || password === '')
    throw refuse('credentials.password', 'must be a text that is not empty');
  if (username !== undefined && (typeof username !== 'string' || username === ''))
    throw refuse('credentials.username', 'must be a text that is not empty');
  return credentials;
}

function invalid(maker: string, option: string, what: string): OutboxError {
  return new OutboxError('OUTBOX_OPTION_INVALID', `The option \`${option}\` of ${maker} ${what}.`, {
    details: { option },
  });
}
