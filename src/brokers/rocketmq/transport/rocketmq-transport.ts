import { namedReasonOf, ownReasonOf } from '../../../core/reason.ts';
import { missingAmong } from '../../capabilities.ts';
import type { ReceivingTransport } from '../../receiving-transport.ts';
import { Rests } from '../../rests.ts';
import { type SendOutcome, sendByKey } from '../../send-by-key.ts';
import type { Hold, OutgoingBatch, OutgoingMessage, PublishResult } from '../../transport.ts';
import { clientLibrary } from '../client/client-library.ts';
import type { RocketmqConnection } from '../client/connection.ts';
import { consumerGroups } from '../client/consumer-groups.ts';
import { createTopic } from '../client/create-topic.ts';
import { isMissing } from '../client/failure.ts';
import { flushFindings } from '../client/flush.ts';
import { groupOffsets } from '../client/group-offsets.ts';
import { Proxies } from '../client/proxies.ts';
import { addressMissing, serverFailure } from '../client/unavailable.ts';
import { rocketmqSource } from '../source/rocketmq-source.ts';
import { type RocketmqOptions, rocketmqConnection } from './rocketmq-options.ts';
import { Routes, type SendRoute, UnfitTopic } from './routes.ts';
import { outcomeOf } from './send-failure.ts';
import { sendMessage } from './send-message.ts';

/** Concurrent requests, one per message. More do not increase the throughput. */
const concurrency = 128;

/**
 * Delivers to topics of RocketMQ 5 through its proxies, each message acknowledged by its broker.
 *
 * The address is the topic, which must exist. A topic of type FIFO keeps the order of a key, which is the message group. To
 * one of type NORMAL, messages of a key are sent in order, but RocketMQ does not keep it. Other types hold their topic.
 *
 * At least once: messages in flight when a proxy stops answering are `deferred` with `onWire`, and the relay sends them
 * again. A topic whose messages get no clear answer rests between tries, up to a minute.
 *
 * @throws {@link OutboxError} `OUTBOX_OPTION_INVALID`; `OUTBOX_PACKAGE_MISSING` without rocketmq-client-nodejs.
 */
export function rocketmq(options: RocketmqOptions): ReceivingTransport {
  const connection = rocketmqConnection(options);
  clientLibrary();
  return Object.assign(
    rocketmqOver(connection, options.tag),
    options.nameServers === undefined
      ? { withoutOffsets: 'proxies do not tell how far a group is, so rocketmq() needs `nameServers`' }
      : { offsets: groupOffsets(connection) },
  );
}

/** {@link rocketmq}, with a validated connection. */
export function rocketmqOver(
  connection: RocketmqConnection,
  tagOf?: RocketmqOptions['tag'],
): ReceivingTransport {
  const sender = new Sender(connection, tagOf);
  return {
    name: 'rocketmq',
    get endpoint() {
      return connection.servers.join(',');
    },
    tls: () => connection.tls,
    source: () => rocketmqSource(connection),
    publish: (batch) => sender.publish(batch),
    probe: (address) => sender.probe(address),
    topics: {
      missing: (addresses) => missingAmong(addresses, (address) => sender.probe(address)),
      create: (address, queues) => createTopic(connection, address, queues),
    },
    groups: consumerGroups(connection),
    durability: () => flushFindings(connection),
    close: () => sender.close(),
  };
}

class Sender {
  readonly #proxies: Proxies;
  readonly #routes: Routes;
  readonly #rests = new Rests();
  readonly #tagOf: NonNullable<RocketmqOptions['tag']>;
  readonly #open = new Set<Promise<PublishResult>>();

  constructor(connection: RocketmqConnection, tagOf: RocketmqOptions['tag'] = () => undefined) {
    this.#proxies = new Proxies(connection);
    this.#routes = new Routes(this.#proxies);
    this.#tagOf = tagOf;
  }

  async publish(batch: OutgoingBatch): Promise<PublishResult> {
    if (batch.messages.length === 0) return { outcomes: [] };
    const publishing = this.#publish(batch);
    this.#open.add(publishing);
    try {
      return await publishing;
    } finally {
      this.#open.delete(publishing);
    }
  }

  async probe(address: string): Promise<void> {
    const rest = this.#rests.restOf(address);
    if (rest !== undefined) throw serverFailure(this.#proxies.connection, rest.reason);
    try {
      await this.#routes.ask(address);
    } catch (error) {
      if (isMissing(error)) throw addressMissing(this.#proxies.connection, [address]);
      throw serverFailure(this.#proxies.connection, error);
    }
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#open);
    this.#proxies.close();
  }

  async #publish(batch: OutgoingBatch): Promise<PublishResult> {
    const { address } = batch;
    const rest = this.#rests.restOf(address);
    if (rest !== undefined) return nothingOf(batch, rest);
    let route: SendRoute;
    try {
      route = await this.#routes.of(address);
    } catch (error) {
      return nothingOf(batch, holdOf(error));
    }
    const result = await sendByKey(batch, concurrency, (message) => this.#send(route, address, message));
    const { hold } = result;
    // A rest is only for topics: if the proxy itself does not answer, a probe shows when it is back.
    const doubtful =
      hold?.scope === 'topic' && result.outcomes.some((one) => one.kind === 'deferred' && one.onWire);
    if (doubtful) this.#rests.add(address, hold.reason);
    else if (result.outcomes.some(({ kind }) => kind === 'acknowledged')) this.#rests.clear(address);
    return result;
  }

  async #send(route: SendRoute, topic: string, message: OutgoingMessage): Promise<SendOutcome> {
    let tag: string | undefined;
    try {
      tag = this.#tagOf(message, topic);
    } catch (error) {
      return { kind: 'permanent', error: `The option \`tag\` threw: ${namedReasonOf(error)}` };
    }
    try {
      await sendMessage(this.#proxies, route, topic, message, tag);
      return { kind: 'acknowledged', partition: null, offset: null };
    } catch (error) {
      return outcomeOf(error, true);
    }
  }
}

function nothingOf({ messages }: OutgoingBatch, hold: Hold): PublishResult {
  return { outcomes: messages.map(() => ({ kind: 'deferred', onWire: false })), hold };
}

/** The hold if the route of a topic is unknown or unfit: nothing was sent. */
function holdOf(error: unknown): Hold {
  if (error instanceof UnfitTopic) return { scope: 'topic', reason: error.message };
  const outcome = outcomeOf(error, false);
  if (outcome.kind === 'hold') return outcome.hold;
  return { scope: 'topic', reason: ownReasonOf(error) };
}
