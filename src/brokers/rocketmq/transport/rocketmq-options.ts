import type { ConnectionOptions } from 'node:tls';
import { type Duration, durationMs } from '../../../core/duration.ts';
import { OutboxError } from '../../../core/errors.ts';
import { type Lazy, read } from '../../../core/options/lazy.ts';
import { assertTlsOptions, unknownOption } from '../../../core/options/option-names.ts';
import { toldValue } from '../../../core/options/told-value.ts';
import type { OutgoingMessage } from '../../transport.ts';
import type { AccessKey, RocketmqConnection } from '../client/connection.ts';

/** How to reach RocketMQ, and how long to wait for it. */
export interface RocketmqOptions {
  /** `host:port` of proxies (gRPC), separated by commas or semicolons, or as a list. The first that answers is used. */
  readonly endpoints: Lazy<string | readonly string[]>;
  /** The user of RocketMQ's access control. @defaultValue none */
  readonly accessKey?: Lazy<string>;
  /** The secret of that user, which signs every request and is never sent. */
  readonly secretKey?: Lazy<string>;
  /** The namespace of topics and groups. @defaultValue none */
  readonly namespace?: string;
  /** `true` for TLS with the certificates that Node trusts, or options of `tls.connect`. @defaultValue no TLS */
  readonly ssl?: Lazy<boolean | ConnectionOptions>;
  /**
   * How long a proxy may take to answer, 100 ms to 2 min. A message without an answer by then may have been stored.
   * @defaultValue `'5s'`
   */
  readonly requestTimeout?: Duration;
  /**
   * Returns the tag of a message, by which other programs may filter. If RocketMQ refuses the tag, or the function throws, the
   * message fails permanently. @defaultValue no tag
   */
  readonly tag?: (message: OutgoingMessage, topic: string) => string | undefined;
  /**
   * How long received messages stay with a consumer without a renewal, 10 s to 12 h. A running consumer renews them three
   * times in that period; the messages of a dead one are delivered again after it. @defaultValue `'30s'`
   */
  readonly invisibleTime?: Duration;
}

const optionNames: readonly (keyof RocketmqOptions)[] = [
  'endpoints',
  'accessKey',
  'secretKey',
  'namespace',
  'ssl',
  'requestTimeout',
  'tag',
  'invisibleTime',
];

const requestTimeout = { from: 100, to: 120_000, text: '100 ms to 2 min' } as const;
const invisibleTime = { from: 10_000, to: 12 * 3_600_000, text: '10 s to 12 h' } as const;

/**
 * Validates the options and fills in the defaults. Options given as functions are called on every read.
 *
 * @throws {@link OutboxError} `OUTBOX_OPTION_INVALID`.
 */
export function rocketmqConnection(options: RocketmqOptions): RocketmqConnection {
  const unknown = unknownOption(options, optionNames);
  if (unknown !== undefined) throw invalid(unknown, 'is unknown');
  const { accessKey, endpoints, namespace = '', secretKey, ssl = false, tag } = options;
  if (typeof namespace !== 'string') throw invalid('namespace', 'must be a text');
  if (tag !== undefined && typeof tag !== 'function') throw invalid('tag', 'must be a function');
  if ((accessKey === undefined) !== (secretKey === undefined))
    throw invalid(
      accessKey === undefined ? 'accessKey' : 'secretKey',
      'is missing beside the other',
      undefined,
    );
  const connection: RocketmqConnection = {
    namespace,
    requestTimeoutMs: timeOf('requestTimeout', options.requestTimeout ?? 5_000, requestTimeout),
    invisibleMs: timeOf('invisibleTime', options.invisibleTime ?? 30_000, invisibleTime),
    get endpoints() {
      return endpointList(typeof endpoints === 'function' ? endpoints() : endpoints);
    },
    get ssl() {
      return checkedTls(read(ssl));
    },
    get credentials() {
      return accessKey === undefined || secretKey === undefined
        ? undefined
        : checkedKey(accessKey, secretKey);
    },
  };
  // Options that are not functions are checked at once.
  if (typeof endpoints !== 'function') void connection.endpoints;
  if (typeof ssl !== 'function') void connection.ssl;
  if (typeof accessKey !== 'function' && typeof secretKey !== 'function') void connection.credentials;
  return connection;
}

function checkedKey(accessKey: Lazy<string>, secretKey: Lazy<string>): AccessKey {
  const key = { accessKey: read(accessKey), secretKey: read(secretKey) };
  for (const name of ['accessKey', 'secretKey'] as const)
    if (typeof key[name] !== 'string' || key[name] === '')
      throw invalid(name, 'must be a text that is not empty');
  return key;
}

function checkedTls(ssl: boolean | ConnectionOptions): boolean | ConnectionOptions {
  assertTlsOptions('ssl', ssl, invalid);
  return ssl;
}

function endpointList(endpoints: string | readonly string[]): readonly string[] {
  const given: unknown = typeof endpoints === 'string' ? endpoints.split(/[,;]/) : endpoints;
  // In plain JavaScript, an unset environment variable may be passed as `undefined`.
  const texts: readonly unknown[] = Array.isArray(given) ? given : [given];
  const list = texts
    .map((endpoint) => (typeof endpoint === 'string' ? endpoint.trim() : String(endpoint)))
    .filter((endpoint) => endpoint !== '');
  const wrong = list.some((endpoint) => !/^(?:[^\s:@/[\]]+|\[[\da-f:]+\]):\d{1,5}$/i.test(endpoint));
  if (list.length === 0 || wrong) throw invalid('endpoints', 'must name at least one host:port');
  return list;
}

function timeOf(
  option: string,
  given: Duration,
  { from, to, text }: { readonly from: number; readonly to: number; readonly text: string },
): number {
  const value = durationMs(given);
  if (value !== undefined && value >= from && value <= to) return value;
  throw invalid(option, `must be ${text}`, given);
}

function invalid(option: string, what: string, value?: unknown): OutboxError {
  return new OutboxError('OUTBOX_OPTION_INVALID', `The option \`${option}\` of rocketmq() ${what}.`, {
    details: { option, ...toldValue(value) },
  });
}
