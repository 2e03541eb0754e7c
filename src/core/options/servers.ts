import { secret } from '../secrets.ts';
import { misfit, type Option, type Reader } from './reader.ts';
import { matching, where } from './values.ts';

const hostAndPort = /^[^\s:@/[\]]+:\d{1,5}$/;
const withIpv6 = /^(?:[^\s:@/[\]]+|\[[\da-f:]+\]):\d{1,5}$/i;

/** Servers as `host:port`, at least one: separated by commas or semicolons, or as a list. */
export function servers({ ipv6 = false } = {}): Reader<readonly string[]> {
  const one = matching(ipv6 ? withIpv6 : hostAndPort, 'host:port, or several of them');
  const inRange = where(one, 'must have a port from 1 to 65535', (server) => {
    const port = Number(server.slice(server.lastIndexOf(':') + 1));
    return port >= 1 && port <= 65_535;
  });
  return several(inRange, /[,;]/);
}

/** At least one of what `reader` reads, as a list or in one text. */
export function several<Value>(reader: Reader<Value>, separator: RegExp): Reader<readonly Value[]> {
  const { schema, wanted } = reader;
  return {
    wanted,
    schema: schema && { type: 'array', items: schema, minItems: 1 },
    read(given, option) {
      const texts: unknown = typeof given === 'string' ? given.split(separator) : given;
      const list = (Array.isArray(texts) ? texts : [texts])
        .map((text: unknown) => (typeof text === 'string' ? text.trim() : text))
        .filter((text) => text !== '');
      if (list.length === 0) throw misfit(option, `must be ${wanted}`);
      return list.map((text) => reader.read(text, option));
    },
  };
}

/** What the URL of a server says. */
export interface ServerUrl {
  /** As a socket takes it: an IPv6 address without brackets. */
  readonly host: string;
  readonly port: number;
  /** By TLS. */
  readonly secure: boolean;
  /** Empty: none is given. */
  readonly username: string;
  readonly password: string;
  /** Without the slash before it. */
  readonly path: string;
}

/**
 * A URL of a server. No error repeats it: it may contain a password.
 *
 * @param ports the usual ones, by scheme; the second scheme is the one with TLS
 */
export function serverUrl(
  ports: readonly [plain: readonly [string, number], secure: readonly [string, number]],
  wanted: string,
): Reader<ServerUrl> {
  const read = (given: unknown, option: Option): ServerUrl => {
    const url = typeof given === 'string' && URL.canParse(given) ? new URL(given) : undefined;
    const usual = ports.find(([scheme]) => url?.protocol === `${scheme}:`);
    if (url === undefined || usual === undefined || url.hostname === '')
      throw misfit(option, `must be ${wanted}`);
    if (url.search !== '' || url.hash !== '') throw misfit(option, 'must not have a query or a fragment');
    const username = decoded(url.username, option);
    return {
      host: url.hostname.replaceAll(/^\[|\]$/g, ''),
      port: url.port === '' ? usual[1] : Number(url.port),
      secure: usual === ports[1],
      username,
      password: secret(decoded(url.password, option), username),
      path: decoded(url.pathname.slice(1), option),
    };
  };
  return { wanted, read };
}

function decoded(part: string, option: Option): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw misfit(option, 'must have a "%" written as %25');
  }
}
