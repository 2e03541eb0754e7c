import type { Duration } from '../../../core/duration.ts';
import { listOf, object, recordOf, type Table } from '../../../core/options/collections.ts';
import { type Lazy, lazy } from '../../../core/options/lazy.ts';
import { optionTable } from '../../../core/options/option-table.ts';
import { type ServerUrl, serverUrl, several } from '../../../core/options/servers.ts';
import { tlsOptions } from '../../../core/options/tls.ts';
import {
  defaulted,
  duration,
  flag,
  func,
  optional,
  text,
  where,
  whole,
} from '../../../core/options/values.ts';
import type { OutgoingMessage } from '../../transport.ts';
import type { RabbitmqConnection, RabbitmqServer, RabbitmqTls } from '../client/connection.ts';
import type { QueueRules } from '../source/queue-rules.ts';

/** How messages of one exchange are routed. */
export interface RabbitmqExchange {
  /**
   * Its type, with which `migrate --create` declares it. An existing exchange of another type is then an error; without this
   * option it is left as it is. @defaultValue `'topic'` for a new one
   */
  readonly type?: string;
  /**
   * Returns the routing key of a message, at most 255 bytes. If it throws, the message is rejected, and retried by the rules of
   * its topic. @defaultValue the message's key, or an empty string
   */
  readonly routingKey?: (message: OutgoingMessage) => string;
  /** The keys with which a consumer binds its queue. @defaultValue `['#']`: all messages of a topic or fanout exchange */
  readonly bindingKeys?: readonly string[];
}

/** The queues from which consumers receive. */
export interface RabbitmqQueues {
  /** Name of the queue of a group for an address. @defaultValue `<address>.<group>` */
  readonly name?: (address: string, group: string) => string;
  /**
   * Whether a consumer declares its queue, a quorum queue, and binds it. An existing queue must then have the arguments that
   * follow from these options. @defaultValue true
   */
  readonly declare?: boolean;
  /**
   * True: one consumer of a group receives at a time, and another takes over when it ends, so that keys keep their order.
   * False: all consumers share the queue, without order. @defaultValue true
   */
  readonly order?: boolean;
  /**
   * How often a message may return to the queue, from 1: at each crash, stop or lost connection of a consumer to which it was
   * delivered, whether handling had begun or not. Then it goes to `deadLetterExchange`, which is required.
   * @defaultValue no limit
   */
  readonly deliveryLimit?: number;
  /** The exchange for messages that reach the limit. It is not declared. @defaultValue none */
  readonly deadLetterExchange?: string;
}

/** How to reach RabbitMQ, and how messages are routed there. */
export interface RabbitmqOptions {
  /**
   * `amqp://user:password@host:port/vhost`, or `amqps://` for TLS; for a cluster several, separated by commas or as a list.
   * The first that answers is used.
   */
  readonly url: Lazy<string | readonly string[]>;
  /** Options of `tls.connect` for `amqps://`. @defaultValue the certificates that Node trusts */
  readonly tls?: Lazy<RabbitmqTls>;
  /**
   * How long the server may take to answer, 100 ms to 2 min. A message that is not confirmed by then may have been stored.
   * @defaultValue `'5s'`
   */
  readonly requestTimeout?: Duration;
  /**
   * How often server and client signal that they are alive, 1 s to 1 min in whole seconds; the server may ask for less. A
   * consumer notices a silent server after two to three times this, and the server a process that is too busy to signal.
   * @defaultValue `'5s'`
   */
  readonly heartbeat?: Duration;
  /** Unconfirmed messages per lane, 1 to 10,000; per key it is always one. @defaultValue 1,000 */
  readonly concurrency?: number;
  /** Routing per exchange, by address. @defaultValue none */
  readonly exchanges?: Readonly<Record<string, RabbitmqExchange>>;
  /** The queues of consumers. @defaultValue a quorum queue per address and group, in order */
  readonly queues?: RabbitmqQueues;
}

/** The validated options. */
export interface RabbitmqSettings {
  readonly connection: RabbitmqConnection;
  readonly concurrency: number;
  readonly queues: QueueRules;
  readonly routingKey: (address: string) => (message: OutgoingMessage) => string;
  /** The type that the exchange must have; `undefined`: any. */
  readonly typeOf: (address: string) => string | undefined;
}

const url = serverUrl(
  [
    ['amqp', 5672],
    ['amqps', 5671],
  ],
  'amqp://user:password@host:port/vhost, or amqps://',
);
const wholeSeconds = where(
  duration('1s', '1 min', '5s'),
  'must be in whole seconds',
  (heartbeat) => heartbeat % 1_000 === 0,
);

const exchange = object({
  type: optional(text()),
  routingKey: optional(func<NonNullable<RabbitmqExchange['routingKey']>>()),
  bindingKeys: optional(listOf(text(), 'a list of texts')),
} satisfies Table<RabbitmqExchange>);

const queueOptions = object({
  name: optional(func<NonNullable<RabbitmqQueues['name']>>()),
  declare: flag(true),
  order: flag(true),
  deliveryLimit: optional(whole(1, 1_000_000)),
  deadLetterExchange: optional(text()),
} satisfies Table<RabbitmqQueues>);

const rabbitmqOptions = optionTable('rabbitmq()', {
  url: lazy(several(url, /,/)),
  tls: lazy(tlsOptions<RabbitmqTls>(), {}),
  requestTimeout: duration('100ms', '2 min', '5s'),
  heartbeat: wholeSeconds,
  concurrency: whole(1, 10_000, 1_000),
  exchanges: optional(recordOf(exchange, 'an object of exchanges by name')),
  queues: defaulted(queueOptions),
} satisfies Table<RabbitmqOptions>);

/**
 * Checks the options and fills in the defaults. Options given as functions are called on every read.
 *
 * @throws {@link OutboxError} `OUTBOX_OPTION_INVALID`; it never contains the URL, which may contain a password.
 */
export function rabbitmqSettings(options: RabbitmqOptions): RabbitmqSettings {
  const {
    exchanges = {},
    heartbeat,
    concurrency,
    queues,
    requestTimeout,
    ...late
  } = rabbitmqOptions.read(options);
  if (queues.deliveryLimit !== undefined && queues.deadLetterExchange === undefined)
    throw rabbitmqOptions.invalid(
      'queues.deliveryLimit',
      'needs a deadLetterExchange: what reaches it would be lost',
    );
  const routed = (address: string) => (Object.hasOwn(exchanges, address) ? exchanges[address] : undefined);
  return {
    connection: {
      requestTimeoutMs: requestTimeout,
      heartbeatSeconds: heartbeat / 1_000,
      get servers() {
        return late.url().map(serverOf);
      },
      get tls() {
        return late.tls();
      },
    },
    concurrency,
    queues: {
      ...queues,
      name: queues.name ?? ((address, group) => `${address}.${group}`),
      bindingKeys: (address) => routed(address)?.bindingKeys ?? ['#'],
    },
    routingKey: (address) => routed(address)?.routingKey ?? byKey,
    typeOf: (address) => routed(address)?.type,
  };
}

function byKey({ key }: OutgoingMessage): string {
  return key ?? '';
}

function serverOf({ host, password, path, port, secure, username }: ServerUrl): RabbitmqServer {
  const noUser = username === '' && password === '';
  return {
    host,
    port,
    secure,
    user: noUser ? 'guest' : username,
    password: noUser ? 'guest' : password,
    vhost: path === '' ? '/' : path,
  };
}
