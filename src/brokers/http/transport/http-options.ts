import type { ConnectionOptions } from 'node:tls';
import type { Duration } from '../../../core/duration.ts';
import { isObject, listOf, type Table } from '../../../core/options/collections.ts';
import { type Lazy, lazy } from '../../../core/options/lazy.ts';
import { optionTable } from '../../../core/options/option-table.ts';
import { Misfit, misfit, type Reader } from '../../../core/options/reader.ts';
import { tlsOptions } from '../../../core/options/tls.ts';
import { duration, optional, where, whole } from '../../../core/options/values.ts';
import { textOf } from '../../../core/reason.ts';
import { takenHeader } from '../client/http-headers.ts';
import { type WebhookSecret, type Webhooks, webhooks } from '../client/signatures.ts';
import { type AddressGuard, addressGuard, allowed } from './address-guard.ts';

/** How messages are signed and posted. */
export interface HttpOptions {
  /**
   * Signs every message according to Standard Webhooks: `whsec_` and at least 24 bytes in base64. With several secrets, a
   * message gets one signature from each, and a receiver that knows any of them accepts it. A function is called for every
   * batch.
   */
  readonly secret: Lazy<WebhookSecret>;
  /** Headers of every request, for example `authorization`; a function is called for every batch. @defaultValue none */
  readonly headers?: Lazy<Readonly<Record<string, string>>>;
  /**
   * IP addresses, networks (`10.1.0.0/16`) and host names that may be posted to although they are private, of this machine
   * or of a cloud's metadata service. @defaultValue none: only the public internet
   */
  readonly allow?: readonly string[];
  /** Statuses from 400 to 499, except 429, that fail a message at once, as 410 does: for example 409 and 422. @defaultValue none */
  readonly permanentStatuses?: readonly number[];
  /** Concurrent requests per lane, 1 to 1,000; messages of one key are sent one after the other. @defaultValue 16 */
  readonly concurrency?: number;
  /** Time for a request and its response once there is a connection, 100 ms to 15 s. @defaultValue `'10s'` */
  readonly requestTimeout?: Duration;
  /** Options of `tls.connect` for `https://`, such as `ca`; a function is called at first use. @defaultValue what Node trusts */
  readonly tls?: Lazy<ConnectionOptions>;
}

/** Options of `tls.connect`, except the port and the timeout. */
type TlsSettings = Omit<ConnectionOptions, 'port' | 'timeout'>;

/** The validated options. Options given as functions are called on every read. */
export interface HttpSettings {
  readonly webhooks: Webhooks;
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: TlsSettings;
  readonly guard: AddressGuard;
  readonly permanentStatuses: ReadonlySet<number>;
  readonly concurrency: number;
  readonly requestTimeoutMs: number;
}

/** By their names in lower case. */
const requestHeaders: Reader<Readonly<Record<string, string>>> = {
  wanted: 'an object of names and texts',
  read(given, option) {
    if (!isObject(given)) throw misfit(option, `must be ${requestHeaders.wanted}`);
    const headers = Object.entries(given).map(([name, value]: readonly [string, unknown]) => {
      const lower = name.toLowerCase();
      const what = headerProblem(lower, value);
      if (what !== undefined) throw new Misfit([{ path: `${option.path}.${lower}`, what }]);
      return [lower, textOf(value)] as const;
    });
    return Object.fromEntries(headers);
  },
};

function headerProblem(name: string, value: unknown): string | undefined {
  if (!/^[a-z0-9!#$%&'*+.^_`|~-]+$/.test(name) || takenHeader([name]) !== undefined)
    return 'is not a header that may be set';
  return typeof value === 'string' && /^[\x20-\x7e]*$/.test(value)
    ? undefined
    : 'must be a text of printable ASCII';
}

const status = where(whole(400, 499), 'must not be 429', (given) => given !== 429);

const httpOptions = optionTable('http()', {
  secret: lazy(webhooks),
  headers: lazy(requestHeaders, {}),
  allow: optional(listOf(allowed, 'a list of IP addresses, networks and host names')),
  permanentStatuses: optional(listOf(status, 'a list of statuses')),
  concurrency: whole(1, 1_000, 16),
  // The upper limit keeps a batch, with its last request, below the time after which a lane counts as stuck.
  requestTimeout: duration('100ms', '15s', '10s'),
  tls: lazy(tlsOptions<ConnectionOptions>(), {}),
} satisfies Table<HttpOptions>);

/**
 * Checks the options and fills in the defaults.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID`; `OUTBOX_PACKAGE_MISSING` without standardwebhooks
 */
export function httpSettings(options: HttpOptions): HttpSettings {
  const { allow = [], concurrency, permanentStatuses, requestTimeout, ...late } = httpOptions.read(options);
  return {
    guard: addressGuard(allow),
    permanentStatuses: new Set(permanentStatuses),
    concurrency,
    requestTimeoutMs: requestTimeout,
    get webhooks() {
      return late.secret();
    },
    get headers() {
      return late.headers();
    },
    get tls() {
      return late.tls();
    },
  };
}
