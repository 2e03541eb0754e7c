import { OutboxError } from '../../../core/errors.ts';
import { reasonOf } from '../../../core/reason.ts';
import { missingAmong } from '../../capabilities.ts';
import type { ReceivingTransport } from '../../receiving-transport.ts';
import { Rests } from '../../rests.ts';
import { sendByKey } from '../../send-by-key.ts';
import type { Hold, OutgoingBatch, PublishResult } from '../../transport.ts';
import { amqplib } from '../client/amqplib.ts';
import { askAlone } from '../client/asking.ts';
import { endpointOf } from '../client/connection.ts';
import { codeOf } from '../client/reason.ts';
import { serverUnavailable } from '../client/refused.ts';
import { groupQueues } from '../source/group-queues.ts';
import { rabbitmqSource } from '../source/rabbitmq-source.ts';
import { createExchange } from './create-exchange.ts';
import { rabbitmqFailure } from './failure.ts';
import { Publisher } from './publisher.ts';
import { type RabbitmqOptions, type RabbitmqSettings, rabbitmqSettings } from './rabbitmq-options.ts';

/**
 * Delivers to exchanges of RabbitMQ 3.10 or later: persistent messages, each confirmed by the server.
 *
 * The address of a topic is the name of its exchange, which only `migrate --create` declares. A message that no queue receives is rejected;
 * one that a queue refuses may be in other queues. Messages of one key are sent one at a time, so that none overtakes a refused one; of different
 * keys, up to `concurrency` are in flight. At least once: messages in flight when a connection ends are `deferred` with
 * `onWire`, and the relay sends them again.
 *
 * A missing or forbidden exchange holds only its own messages; a server that is unreachable, or blocks its publishers for
 * lack of memory or disk, holds all. The connection is opened at the first batch and closed after 30 s without one.
 *
 * @throws {@link OutboxError} `OUTBOX_OPTION_INVALID`; `OUTBOX_PACKAGE_MISSING` without amqplib.
 */
export function rabbitmq(options: RabbitmqOptions): ReceivingTransport {
  const settings = rabbitmqSettings(options);
  amqplib();
  const { connection } = settings;
  const publisher = new Publisher(connection);
  const pauses = { refusals: new Refusals(), rests: new Rests() };
  return {
    name: 'rabbitmq',
    get endpoint() {
      return endpointOf(connection);
    },
    tls: () => connection.servers.some(({ secure }) => secure) && connection.tls,
    source: () => rabbitmqSource(connection, settings.queues),
    publish: (batch) => publish(settings, publisher, pauses, batch),
    probe: (address) => probe(publisher, pauses, address),
    server: () => publisher.use(async (link) => link.server),
    topics: {
      missing: (addresses) => missingAmong(addresses, (address) => probe(publisher, pauses, address)),
      create: (address) => createExchange(publisher, address, settings.typeOf(address)),
    },
    groups: groupQueues(publisher, settings.queues),
    // Only what waits in a queue is counted, and what a consumer holds looks as if it were acknowledged.
    withoutOffsets: 'it does not tell what consumers of a queue hold, so a backlog would be sent twice',
    close: () => publisher.close(),
  };
}

/** Exchanges to which nothing is sent for now although a probe would succeed. */
interface Pauses {
  readonly refusals: Refusals;
  readonly rests: Rests;
}

async function publish(
  { connection: { requestTimeoutMs: withinMs }, concurrency, routingKey }: RabbitmqSettings,
  publisher: Publisher,
  { refusals, rests }: Pauses,
  batch: OutgoingBatch,
): Promise<PublishResult> {
  const { address, messages, signal } = batch;
  if (messages.length === 0) return { outcomes: [] };
  const rest = rests.restOf(address);
  if (rest !== undefined) return nothingOf(batch, rest);
  const use = { withinMs, routingKey: routingKey(address) };
  try {
    if (signal.aborted) return await sendByKey(batch, 1, neverSent);
    return await publisher.withChannel(address, use, async (channel) => {
      const result = await sendByKey(batch, concurrency, (message) => channel.send(message));
      if (channel.refused !== undefined) refusals.add(address, channel.refused);
      if (channel.unconfirmed !== undefined) rests.add(address, channel.unconfirmed);
      else if (result.outcomes.some(({ kind }) => kind === 'acknowledged')) rests.clear(address);
      return result;
    });
  } catch (error) {
    // No connection or channel could be opened: nothing was sent.
    const { reason, scope } = rabbitmqFailure(error);
    return nothingOf(batch, { scope, reason });
  }
}

function nothingOf({ messages }: OutgoingBatch, hold: Hold): PublishResult {
  return { outcomes: messages.map(() => ({ kind: 'deferred', onWire: false })), hold };
}

/** Never called: it stands in for a batch that was given up before it began. */
function neverSent(): never {
  throw new Error('Nothing is sent of a batch that was given up.');
}

async function probe(publisher: Publisher, { refusals, rests }: Pauses, address: string): Promise<void> {
  const refused = refusals.reasonFor(address) ?? rests.restOf(address)?.reason;
  if (refused !== undefined) throw serverUnavailable(refused);
  try {
    await publisher.use(async (link) => {
      if (link.blocked !== undefined) throw new Error(`The server blocks its publishers: ${link.blocked}.`);
      await askAlone(link, (channel) => channel.checkExchange(address));
    });
  } catch (error) {
    if (codeOf(error) === 404)
      throw new OutboxError('OUTBOX_ADDRESS_MISSING', reasonOf(error), {
        cause: error,
        details: { address },
      });
    throw serverUnavailable(reasonOf(error), error);
  }
}

/** Only a message shows whether a missing write permission was granted meanwhile; one is tried after this time. */
const refusedForMs = 10_000;

/** Exchanges to which this user may not write. A probe alone would not notice: it may check the exchange nevertheless. */
class Refusals {
  readonly #untilMs = new Map<string, { readonly reason: string; readonly untilMs: number }>();

  add(address: string, reason: string): void {
    this.#untilMs.set(address, { reason, untilMs: performance.now() + refusedForMs });
  }

  reasonFor(address: string): string | undefined {
    const refusal = this.#untilMs.get(address);
    if (refusal === undefined || refusal.untilMs <= performance.now()) return undefined;
    return refusal.reason;
  }
}
