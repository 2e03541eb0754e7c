import { type Duration, durationMs } from '../../../core/duration.ts';
import { OutboxError } from '../../../core/errors.ts';
import { isObject } from '../../../core/options/collections.ts';
import { type Lazy, read } from '../../../core/options/lazy.ts';
import { assertTlsOptions, unknownOption } from '../../../core/options/option-names.ts';
import type { OutgoingMessage } from '../../transport.ts';
import type { RabbitmqConnection, RabbitmqServer, RabbitmqTls } from '../client/connection.ts';
import type { QueueRules } from '../source/queue-rules.ts';

/** How messages of one exchange are routed. */
export interface RabbitmqExchange {
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
  /** Maximum of unconfirmed messages per batch, 1 to 10,000; per key it is always one. @defaultValue 1,000 */
  readonly maxInFlight?: number;
  /** Routing per exchange, by address. @defaultValue none */
  readonly exchanges?: Readonly<Record<string, RabbitmqExchange>>;
  /** The queues of consumers. @defaultValue a quorum queue per address and group, in order */
  readonly queues?: RabbitmqQueues;
}

/** The validated options. */
export interface RabbitmqSettings {
  readonly connection: RabbitmqConnection;
  readonly maxInFlight: number;
  readonly queues: QueueRules;
  readonly routingKey: (address: string) => (message: OutgoingMessage) => string;
}

const optionNames = ['url', 'tls', 'requestTimeout', 'heartbeat', 'maxInFlight', 'exchanges', 'queues'];
const exchangeNames = ['routingKey', 'bindingKeys'];
const queueNames = ['name', 'declare', 'order', 'deliveryLimit', 'deadLetterExchange'];
const defaultRequestTimeoutMs = 5_000;
const defaultHeartbeatMs = 5_000;
const heartbeatRangeMs = { from: 1_000, to: 60_000 } as const;
const requestTimeoutRangeMs = { from: 100, to: 120_000 } as const;
const maxInFlight = { usual: 1_000, most: 10_000 } as const;
const usualPort = { 'amqp:': 5672, 'amqps:': 5671 } as const;

/**
 * Validates the options and fills in the defaults. Options given as functions are called on every read.
 *
 * @throws {@link OutboxError} `OUTBOX_OPTION_INVALID`; it never contains the URL, which may contain a password.
 */
export function rabbitmqSettings(options: RabbitmqOptions): RabbitmqSettings {
  refuseUnknown('', options, optionNames);
  const { exchanges = {}, queues = {}, tls = {}, url } = options;
  const inFlight = options.maxInFlight ?? maxInFlight.usual;
  if (!isWhole(inFlight, 1, maxInFlight.most))
    throw invalid('maxInFlight', `must be a whole number from 1 to ${maxInFlight.most}`);
  const connection: RabbitmqConnection = {
    requestTimeoutMs: requestTimeoutOf(options.requestTimeout ?? defaultRequestTimeoutMs),
    heartbeatSeconds: heartbeatOf(options.heartbeat ?? defaultHeartbeatMs),
    get servers() {
      return serversIn(typeof url === 'function' ? url() : url);
    },
    get tls() {
      return checkedTls(read(tls));
    },
  };
  // Options that are not functions are checked at once.
  if (typeof url !== 'function') Reflect.get(connection, 'servers');
  if (typeof tls !== 'function') Reflect.get(connection, 'tls');
  checkExchanges(exchanges);
  return {
    connection,
    maxInFlight: inFlight,
    queues: queueRules(queues, exchanges),
    routingKey: (address) => own(exchanges, address)?.routingKey ?? byKey,
  };
}

function byKey({ key }: OutgoingMessage): string {
  return key ?? '';
}

function checkExchanges(exchanges: Readonly<Record<string, RabbitmqExchange>>): void {
  if (!isObject(exchanges)) throw invalid('exchanges', 'must be an object of exchanges by name');
  for (const [address, exchange] of Object.entries(exchanges)) {
    const name = `exchanges.${address}`;
    if (!isObject(exchange)) throw invalid(name, 'must be an object');
    refuseUnknown(`${name}.`, exchange, exchangeNames);
    const { bindingKeys, routingKey } = exchange;
    if (routingKey !== undefined && typeof routingKey !== 'function')
      throw invalid(`${name}.routingKey`, 'must be a function that returns a text');
    if (bindingKeys !== undefined && !(Array.isArray(bindingKeys) && bindingKeys.every(isText)))
      throw invalid(`${name}.bindingKeys`, 'must be a list of texts');
  }
}

function queueRules(
  queues: RabbitmqQueues,
  exchanges: Readonly<Record<string, RabbitmqExchange>>,
): QueueRules {
  if (!isObject(queues)) throw invalid('queues', 'must be an object');
  refuseUnknown('queues.', queues, queueNames);
  const { deadLetterExchange, declare = true, deliveryLimit, order = true } = queues;
  if (queues.name !== undefined && typeof queues.name !== 'function')
    throw invalid('queues.name', 'must be a function that returns a name');
  if (typeof declare !== 'boolean') throw invalid('queues.declare', 'must be true or false');
  if (typeof order !== 'boolean') throw invalid('queues.order', 'must be true or false');
  if (deadLetterExchange !== undefined && !isText(deadLetterExchange))
    throw invalid('queues.deadLetterExchange', 'must be the name of an exchange');
  if (deliveryLimit !== undefined && !isWhole(deliveryLimit, 1, 1_000_000))
    throw invalid('queues.deliveryLimit', 'must be a whole number from 1 to 1,000,000');
  if (deliveryLimit !== undefined && deadLetterExchange === undefined)
    throw invalid('queues.deliveryLimit', 'needs a deadLetterExchange: what reaches it would be lost');
  return {
    declare,
    order,
    deliveryLimit,
    deadLetterExchange,
    name: queues.name ?? ((address, group) => `${address}.${group}`),
    bindingKeys: (address) => own(exchanges, address)?.bindingKeys ?? ['#'],
  };
}

function serversIn(given: string | readonly string[]): readonly RabbitmqServer[] {
  const texts: unknown = typeof given === 'string' ? given.split(',') : given;
  if (!Array.isArray(texts) || texts.length === 0) throw invalid('url', urlForm);
  return texts.map((text: unknown) => serverOf(typeof text === 'string' ? text.trim() : ''));
}

const urlForm = 'must be amqp://user:password@host:port/vhost, or amqps://';

function serverOf(text: string): RabbitmqServer {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const protocol = url?.protocol;
  if (url === undefined || url.hostname === '' || (protocol !== 'amqp:' && protocol !== 'amqps:'))
    throw invalid('url', urlForm);
  if (url.search !== '' || url.hash !== '')
    throw invalid('url', 'must end with the virtual host: what follows would have no effect');
  const noUser = url.username === '' && url.password === '';
  return {
    host: url.hostname.replaceAll(/^\[|\]$/g, ''),
    port: url.port === '' ? usualPort[protocol] : Number(url.port),
    secure: protocol === 'amqps:',
    user: noUser ? 'guest' : decoded(url.username),
    password: noUser ? 'guest' : decoded(url.password),
    vhost: decoded(url.pathname.slice(1)) || '/',
  };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw invalid('url', 'has a "%" that is not followed by two hexadecimal digits');
  }
}

function checkedTls(tls: RabbitmqTls): RabbitmqTls {
  assertTlsOptions('tls', tls, invalid, false);
  if ('timeout' in tls) throw invalid('tls.timeout', 'is set by requestTimeout');
  return tls;
}

function requestTimeoutOf(given: Duration): number {
  const { from, to } = requestTimeoutRangeMs;
  const value = durationMs(given);
  if (value !== undefined && value >= from && value <= to) return value;
  throw invalid('requestTimeout', 'must be 100 ms to 2 min');
}

/** In seconds, as the protocol has it. */
function heartbeatOf(given: Duration): number {
  const { from, to } = heartbeatRangeMs;
  const value = durationMs(given);
  if (value !== undefined && value >= from && value <= to && value % 1_000 === 0) return value / 1_000;
  throw invalid('heartbeat', 'must be 1 s to 1 min, in whole seconds');
}

function refuseUnknown(path: string, given: object, known: readonly string[]): void {
  const unknown = unknownOption(given, known);
  if (unknown !== undefined) throw invalid(`${path}${unknown}`, 'is unknown');
}

function own<Value>(values: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined;
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
const isWhole = (value: unknown, from: number, to: number): boolean =>
  typeof value === 'number' && Number.isInteger(value) && value >= from && value <= to;

function invalid(option: string, what: string): OutboxError {
  return new OutboxError('OUTBOX_OPTION_INVALID', `The option \`${option}\` of rabbitmq() ${what}.`, {
    details: { option },
  });
}
