import type { Channel, ConsumeMessage } from 'amqplib';
import { OutboxError } from '../../../core/errors.ts';
import { reasonOf } from '../../../core/reason.ts';
import { askAlone } from '../client/asking.ts';
import type { Link } from '../client/link.ts';
import { codeOf } from '../client/reason.ts';
import type { QueueRules } from './queue-rules.ts';

const notFound = 404;
const otherArguments = 406;

/** The queue of a group, with a channel that can receive from it. */
export interface OpenQueue {
  readonly channel: Channel;
  readonly queue: string;
  /** Whether it was declared before the server limited deliveries, so that it has the server's limit. */
  readonly limited: boolean;
  /** Resolves with the reason when the channel, or its consumer, has ended. */
  readonly ended: Promise<unknown>;
}

export interface QueueUse {
  readonly address: string;
  readonly group: string;
  readonly rules: QueueRules;
  /** How many messages may be unacknowledged. */
  readonly prefetch: number;
}

/**
 * Finds the queue of a group, which is declared and bound if the rules say so. Nothing is received yet.
 *
 * @throws OutboxError `OUTBOX_ADDRESS_MISSING` if the exchange, or a queue that is not declared here, is missing; or
 * the error of the server
 */
export async function openQueue(link: Link, use: QueueUse): Promise<OpenQueue> {
  const queue = use.rules.name(use.address, use.group);
  const unlimited = use.rules.deliveryLimit === undefined && limitsByItself(link);
  try {
    return await open(link, use, { queue, unlimited });
  } catch (error) {
    const existing =
      unlimited && codeOf(error) === otherArguments
        ? await open(link, use, { queue, unlimited: false }).catch(() => undefined)
        : undefined;
    if (existing === undefined) throw openFailure(error, use.address, queue);
    return { ...existing, limited: true };
  }
}

async function open(
  link: Link,
  { address, prefetch, rules }: QueueUse,
  { queue, unlimited }: { queue: string; unlimited: boolean },
): Promise<OpenQueue> {
  const channel = await link.ask((model) => model.createChannel());
  const ended = endOf(channel, link, queue);
  await link.ask(async () => {
    if (rules.declare) {
      await channel.assertQueue(queue, { arguments: argumentsOf(rules, unlimited) });
      for (const key of rules.bindingKeys(address)) await channel.bindQueue(queue, address, key);
    } else await channel.checkQueue(queue);
    await channel.prefetch(prefetch);
  });
  return { channel, queue, limited: false, ended };
}

/**
 * Binds a queue as {@link openQueue} does, on a channel of its own, which an exchange that is missing ends.
 *
 * @throws the error of the server
 */
export async function bindAgain(
  link: Link,
  { address, group, rules }: Omit<QueueUse, 'prefetch'>,
): Promise<void> {
  await askAlone(link, async (channel) => {
    for (const key of rules.bindingKeys(address))
      await channel.bindQueue(rules.name(address, group), address, key);
  });
}

/** Begins to receive. @throws the error of the server */
export async function consume(
  link: Link,
  { channel, queue }: OpenQueue,
  receive: (message: ConsumeMessage) => void,
): Promise<void> {
  await link.ask(() =>
    channel.consume(queue, (message) => {
      if (message === null) channel.emit('canceled');
      else receive(message);
    }),
  );
}

/** Number of messages that are ready in a queue, without those delivered to a consumer and not acknowledged. */
export async function readyIn(link: Link, queue: string): Promise<number> {
  const { messageCount } = await askAlone(link, (channel) => channel.checkQueue(queue));
  return messageCount;
}

/** From RabbitMQ 4.0 on, a quorum queue drops a message after 20 deliveries by default. */
function limitsByItself({ model }: Link): boolean {
  return Number.parseInt(model.connection.serverProperties.version, 10) >= 4;
}

function argumentsOf(
  { deadLetterExchange, deliveryLimit, order }: QueueRules,
  unlimited: boolean,
): Readonly<Record<string, unknown>> {
  const limit = deliveryLimit ?? (unlimited ? -1 : undefined);
  return {
    'x-queue-type': 'quorum',
    ...(order && { 'x-single-active-consumer': true }),
    ...(limit !== undefined && { 'x-delivery-limit': limit }),
    // A message is confirmed by the other queue before it leaves this one; RabbitMQ requires the overflow setting for
    // that.
    ...(deadLetterExchange !== undefined && {
      'x-dead-letter-exchange': deadLetterExchange,
      'x-dead-letter-strategy': 'at-least-once',
      'x-overflow': 'reject-publish',
    }),
  };
}

function endOf(channel: Channel, link: Link, queue: string): Promise<unknown> {
  let reason: unknown;
  channel.on('error', (error) => {
    reason ??= error;
  });
  return new Promise((resolve) => {
    channel.on('canceled', () => resolve(canceled(channel, link, queue)));
    channel.on('close', () =>
      // If the connection ends, its reason arrives after its channels have closed.
      queueMicrotask(() => resolve(reason ?? link.reason ?? new Error('The channel was closed.'))),
    );
  });
}

/**
 * The server has ended the consumer (`basic.cancel`): its queue was deleted or, from RabbitMQ 4.3 on, a message was
 * unacknowledged for too long. What the channel still holds goes back with it, all of it together, so that nothing that was
 * delivered later is handled first.
 *
 * @returns the reason
 */
async function canceled(channel: Channel, link: Link, queue: string): Promise<unknown> {
  const closed = channel.close().catch(() => undefined);
  try {
    await readyIn(link, queue);
    return new Error(
      `The server canceled the consumer of the queue ${queue}: it may have held a message for longer than consumer_timeout.`,
    );
  } catch (error) {
    return codeOf(error) === notFound ? new Error(`The queue ${queue} was deleted.`) : error;
  } finally {
    await closed;
  }
}

/** The warning about a queue that is {@link OpenQueue.limited}. */
export function deliveriesLimited(queue: string): OutboxError {
  return new OutboxError(
    'OUTBOX_DELIVERIES_LIMITED',
    `The queue ${queue} was declared before RabbitMQ 4.0: from 4.0 on it drops a message after 20 deliveries, unless a policy says otherwise.`,
    { details: { queue } },
  );
}

function openFailure(error: unknown, address: string, queue: string): unknown {
  const code = codeOf(error);
  if (code === notFound)
    return new OutboxError(
      'OUTBOX_ADDRESS_MISSING',
      `Nothing is received from ${address}: ${reasonOf(error)}`,
      {
        cause: error,
        details: { addresses: [address], queue },
      },
    );
  if (code !== otherArguments) return error;
  const next =
    'Delete the queue when it is empty, or change the option `queues` of rabbitmq(), or set its `declare` to false.';
  return new Error(`The queue ${queue} exists with other arguments: ${reasonOf(error)}. ${next}`, {
    cause: error,
  });
}
