import type { ConnectionOptions } from 'node:tls';
import type { Duration } from '../../../core/duration.ts';
import type { Table } from '../../../core/options/collections.ts';
import { type Lazy, lazy } from '../../../core/options/lazy.ts';
import { optionTable } from '../../../core/options/option-table.ts';
import { servers } from '../../../core/options/servers.ts';
import { tls } from '../../../core/options/tls.ts';
import { duration, func, matching, optional, secretText, text } from '../../../core/options/values.ts';
import type { OutgoingMessage } from '../../transport.ts';
import type { RocketmqConnection } from '../client/connection.ts';

/** How to reach RocketMQ, and how long to wait for it. */
export interface RocketmqOptions {
  /** `host:port` of proxies (gRPC), separated by commas or semicolons, or as a list. The first that answers is used. */
  readonly servers: Lazy<string | readonly string[]>;
  /**
   * `host:port` of all name servers, for `migrate --create`, `doctor`, receipts and lags: they ask brokers what proxies cannot do.
   * Consumers do not use them. @defaultValue none
   */
  readonly nameServers?: Lazy<string | readonly string[]>;
  /** The user of RocketMQ's access control. @defaultValue none */
  readonly accessKey?: Lazy<string>;
  /** The secret of that user, which signs every request and is never sent. */
  readonly secretKey?: Lazy<string>;
  /** The namespace of topics and groups. @defaultValue none */
  readonly namespace?: string;
  /** `true` for TLS with the certificates that Node trusts, or options of `tls.connect`. @defaultValue no TLS */
  readonly tls?: Lazy<boolean | ConnectionOptions>;
  /** TLS with `nameServers` and brokers, as `tls`; `false`: they are asked without it. @defaultValue as `tls` */
  readonly brokerTls?: Lazy<boolean | ConnectionOptions>;
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

const rocketmqOptions = optionTable('rocketmq()', {
  servers: lazy(servers({ ipv6: true })),
  nameServers: optional(lazy(servers({ ipv6: true }))),
  accessKey: optional(lazy(text())),
  secretKey: optional(lazy(secretText())),
  namespace: matching(/^/, 'a text', ''),
  tls: lazy(tls<ConnectionOptions>(), false),
  brokerTls: optional(lazy(tls<ConnectionOptions>())),
  requestTimeout: duration('100ms', '2 min', '5s'),
  tag: optional(func<NonNullable<RocketmqOptions['tag']>>()),
  invisibleTime: duration('10s', '12h', '30s'),
} satisfies Table<RocketmqOptions>);

/**
 * Checks the options and fills in the defaults. Options given as functions are called on every read.
 *
 * @throws {@link OutboxError} `OUTBOX_OPTION_INVALID`.
 */
export function rocketmqConnection(options: RocketmqOptions): RocketmqConnection {
  const {
    accessKey,
    brokerTls,
    servers: given,
    invisibleTime,
    namespace,
    nameServers,
    requestTimeout,
    secretKey,
    tls: secured,
  } = rocketmqOptions.read(options);
  if ((accessKey === undefined) !== (secretKey === undefined))
    throw rocketmqOptions.invalid(
      accessKey === undefined ? 'accessKey' : 'secretKey',
      'is required with the other key',
    );
  return {
    namespace,
    requestTimeoutMs: requestTimeout,
    invisibleMs: invisibleTime,
    get servers() {
      return given();
    },
    get nameServers() {
      return nameServers?.();
    },
    get tls() {
      return secured();
    },
    get brokerTls() {
      return (brokerTls ?? secured)();
    },
    get credentials() {
      return accessKey && secretKey && { accessKey: accessKey(), secretKey: secretKey() };
    },
  };
}
