import { OutboxError } from '../../core/errors.ts';
import { reasonOf } from '../../core/reason.ts';
import { endpointOf, type RabbitmqConnection } from '../../rabbitmq/connection.ts';
import type { Source, Subscribed, Subscription } from '../source.ts';
import type { QueueRules } from './queue-rules.ts';
import { QueueSession } from './queue-session.ts';

/**
 * Receives from queues of RabbitMQ, one per address and group.
 *
 * A queue that is declared here receives what is sent from then on, whatever {@link Subscription.fromBeginning} says.
 * Messages are acknowledged after the effects, at the end of each batch. If a consumer is lost, all messages delivered
 * to it and not acknowledged are delivered again.
 */
export function rabbitmqSource(connection: RabbitmqConnection, rules: QueueRules): Source {
  return {
    name: 'rabbitmq',
    // Acknowledged messages are deleted.
    redeliveryHorizonMs: async () => 0,
    subscribe: (subscription) => subscribe(connection, rules, subscription),
  };
}

/** Timers are limited to about 24 days; a longer wait is not limited at all. */
const longestTimerMs = 2 ** 31 - 1;

async function subscribe(
  connection: RabbitmqConnection,
  rules: QueueRules,
  subscription: Subscription,
): Promise<Subscribed> {
  const { addresses, group, joinWithinMs, signal } = subscription;
  const limits = [
    ...(signal === undefined ? [] : [signal]),
    ...(joinWithinMs <= longestTimerMs ? [AbortSignal.timeout(joinWithinMs)] : []),
  ];
  const session = new QueueSession(connection, rules, subscription);
  const over = AbortSignal.any(limits);
  const waited = new Promise<boolean>((resolve) => {
    over.addEventListener('abort', () => resolve(false), { once: true });
    if (over.aborted) resolve(false);
  });
  if (await Promise.race([session.joined.then(() => true), waited]))
    return { lag: () => session.lag(), stop: () => session.stop() };
  const stopped = session.stop();
  signal?.throwIfAborted();
  await stopped;
  const { lastError } = session;
  if (lastError instanceof OutboxError && lastError.code === 'OUTBOX_ADDRESS_MISSING') throw lastError;
  const reason = lastError === undefined ? 'no answer' : reasonOf(lastError);
  throw new OutboxError(
    'OUTBOX_SERVER_UNAVAILABLE',
    `The group "${group}" could not be joined at ${endpointOf(connection)}: ${reason}.`,
    { cause: lastError, details: { group, addresses } },
  );
}
