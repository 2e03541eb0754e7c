import type { ConnectionOptions } from 'node:tls';
import { type Duration, durationMs } from '../../../core/duration.ts';
import { OutboxError } from '../../../core/errors.ts';
import { isObject } from '../../../core/options/collections.ts';
import { type Lazy, read } from '../../../core/options/lazy.ts';
import { assertTlsOptions } from '../../../core/options/option-names.ts';
import { assertOptions } from '../../../core/options/option-table.ts';
import { takenHeader } from '../client/http-headers.ts';
import { type WebhookSecret, Webhooks } from '../client/signatures.ts';
import { type AddressGuard, addressGuard } from './address-guard.ts';

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
  readonly ssl?: Lazy<ConnectionOptions>;
}

/** Options of `tls.connect`, except the port and the timeout. */
type TlsSettings = Omit<ConnectionOptions, 'port' | 'timeout'>;

/** The validated options. Options given as functions are called on every read. */
export interface HttpSettings {
  readonly webhooks: Webhooks;
  readonly headers: Readonly<Record<string, string>>;
  readonly ssl: TlsSettings;
  readonly guard: AddressGuard;
  readonly permanentStatuses: ReadonlySet<number>;
  readonly concurrency: number;
  readonly requestTimeoutMs: number;
}

const optionNames: readonly (keyof HttpOptions)[] = [
  'secret',
  'headers',
  'allow',
  'permanentStatuses',
  'concurrency',
  'requestTimeout',
  'ssl',
];

const defaults = { concurrency: 16, requestTimeout: '10s' } as const;
const maxConcurrency = 1_000;
/** The upper limit keeps a batch, with its last request, below the time after which a lane counts as stuck. */
const requestTimeoutRangeMs = { from: 100, to: 15_000 } as const;

/**
 * Validates the options and fills in the defaults.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID`; `OUTBOX_PACKAGE_MISSING` without standardwebhooks
 */
export function httpSettings(options: HttpOptions): HttpSettings {
  assertOptions('http()', options, optionNames);
  const { secret, headers = {}, ssl = {}, allow = [], permanentStatuses = [] } = options;
  if (!Array.isArray(allow)) throw invalid('allow', 'must be a list');
  const settings: HttpSettings = {
    guard: addressGuard(allow),
    permanentStatuses: checkedStatuses(permanentStatuses),
    concurrency: checkedConcurrency(options.concurrency ?? defaults.concurrency),
    requestTimeoutMs: requestTimeoutOf(options.requestTimeout ?? defaults.requestTimeout),
    get webhooks() {
      return new Webhooks('http()', secret);
    },
    get headers() {
      return checkedHeaders(read(headers));
    },
    get ssl() {
      return checkedTls(read(ssl));
    },
  };
  // Options that are not functions are checked at once.
  for (const [name, given] of Object.entries({ webhooks: secret, headers, ssl }))
    if (typeof given !== 'function') Reflect.get(settings, name);
  return settings;
}

function checkedHeaders(given: unknown): Readonly<Record<string, string>> {
  if (!isObject(given)) throw invalid('headers', 'must be an object of names and texts');
  const lower = Object.entries(given).map(([name, value]) => [name.toLowerCase(), value] as const);
  for (const [name, value] of lower) {
    if (!/^[a-z0-9!#$%&'*+.^_`|~-]+$/.test(name) || takenHeader([name]) !== undefined)
      throw invalid(`headers.${name}`, 'is not a header that may be set');
    if (typeof value !== 'string' || !/^[\x20-\x7e]*$/.test(value))
      throw invalid(`headers.${name}`, 'must be a text of printable ASCII');
  }
  return Object.fromEntries(lower);
}

function checkedTls(ssl: TlsSettings): TlsSettings {
  assertTlsOptions('ssl', ssl, invalid, false);
  return ssl;
}

function checkedStatuses(given: readonly number[]): ReadonlySet<number> {
  const isStatus = (status: number): boolean =>
    Number.isInteger(status) && status >= 400 && status <= 499 && status !== 429;
  if (Array.isArray(given) && given.every(isStatus)) return new Set(given);
  throw invalid('permanentStatuses', 'must list statuses of 400 to 499 other than 429');
}

function checkedConcurrency(given: number): number {
  if (Number.isInteger(given) && given >= 1 && given <= maxConcurrency) return given;
  throw invalid('concurrency', 'must be an integer from 1 to 1,000');
}

function requestTimeoutOf(given: Duration): number {
  const { from, to } = requestTimeoutRangeMs;
  const value = durationMs(given);
  if (value !== undefined && value >= from && value <= to) return value;
  throw invalid('requestTimeout', 'must be 100 ms to 15 s');
}

function invalid(option: string, what: string): OutboxError {
  return new OutboxError('OUTBOX_OPTION_INVALID', `The option \`${option}\` of http() ${what}.`, {
    details: { option },
  });
}
