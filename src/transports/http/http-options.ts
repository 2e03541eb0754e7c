import type { ConnectionOptions } from 'node:tls';
import { type Duration, durationMs } from '../../core/duration.ts';
import { OutboxError } from '../../core/errors.ts';
import { type Lazy, read } from '../../core/lazy.ts';
import { assertOptions, tlsOptionNames, unknownOption } from '../../core/option-names.ts';
import { takenHeader } from '../../http/http-headers.ts';
import { type WebhookSecret, Webhooks } from '../../http/signatures.ts';
import { type AddressGuard, addressGuard } from './address-guard.ts';

/** How messages are signed and posted. */
export interface HttpOptions {
  /**
   * Signs every message as Standard Webhooks says: `whsec_` and at least 24 bytes in base64. Of several each signs, and a
   * receiver that knows any of them accepts; a function is asked for every batch.
   */
  readonly secret: Lazy<WebhookSecret>;
  /** Headers of every request, `authorization` for example; a function is asked for every batch. @defaultValue none */
  readonly headers?: Lazy<Readonly<Record<string, string>>>;
  /**
   * IP addresses, networks (`10.1.0.0/16`) and host names of private networks, of this machine or of a cloud's metadata that
   * may be posted to all the same. @defaultValue none: only the public internet
   */
  readonly allow?: readonly string[];
  /** Answers of 400 to 499, other than 429, after which no further try helps, as 410: 409 and 422 for example. @defaultValue none */
  readonly permanentStatuses?: readonly number[];
  /** Requests of one lane side by side, 1 to 1,000; messages of one key go one after the other. @defaultValue 16 */
  readonly concurrency?: number;
  /** How long an answer may take once the request is sent, 100 ms to 15 s. @defaultValue `'10s'` */
  readonly requestTimeout?: Duration;
  /** Options of `tls.connect` for `https://`, such as `ca`; a function is asked at the first use. @defaultValue what Node trusts */
  readonly ssl?: Lazy<ConnectionOptions>;
}

/** Options of `tls.connect` beside those that say where to. */
type TlsSettings = Omit<ConnectionOptions, 'port' | 'timeout'>;

/** The options, checked. What was given as a function is asked whenever it is read. */
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
/** With what comes before it, a request that is answered in this time ends before a lane counts as stuck. */
const requestTimeoutRangeMs = { from: 100, to: 15_000 } as const;

/**
 * Checks the options and fills in the defaults.
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
  // What stands there as it is, is judged at once.
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

function checkedTls(ssl: unknown): TlsSettings {
  if (!isObject(ssl)) throw invalid('ssl', 'must be options of tls.connect');
  const unknown = unknownOption(ssl, tlsOptionNames);
  if (unknown !== undefined) throw invalid(`ssl.${unknown}`, 'is not an option of tls.connect');
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

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

function invalid(option: string, what: string): OutboxError {
  return new OutboxError('OUTBOX_OPTION_INVALID', `The option \`${option}\` of http() ${what}.`, {
    details: { option },
  });
}
