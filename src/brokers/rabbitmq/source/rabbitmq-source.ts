import { joinInTime } from '../../join-in-time.ts';
import type { Source, Subscribed, Subscription } from '../../source.ts';
import { endpointOf, type RabbitmqConnection } from '../client/connection.ts';
import type { QueueRules } from './queue-rules.ts';
import { QueueSession, type SessionRules } from './queue-session.ts';

const usual = {
  /** An exchange that is deleted and made again has lost its bindings, without any notice. */
  bindEveryMs: 60_000,
  /**
   * Before the server's own limit of 30 minutes: from RabbitMQ 4.3 on it takes the oldest messages back alone, so that
   * another consumer may get later ones of their keys before the rest has come back.
   */
  holdForMs: 25 * 60_000,
} as const;

/**
 * Receives from queues of RabbitMQ, one per address and group.
 *
 * A queue that is declared here receives messages sent from then on, whatever {@link Subscription.fromBeginning} says.
 * Messages are acknowledged after the effects, at the end of each batch. If a consumer is lost, all messages delivered
 * to it and not acknowledged are delivered again.
 *
 * @param times only tests shorten them
 */
export function rabbitmqSource(
  connection: RabbitmqConnection,
  rules: QueueRules,
  times: Partial<Pick<SessionRules, keyof typeof usual>> = {},
): Source {
  return {
    name: 'rabbitmq',
    // Acknowledged messages are deleted.
    redeliveryPeriodMs: async () => 0,
    subscribe: (subscription) => subscribe(connection, { ...usual, ...times, ...rules }, subscription),
  };
}

async function subscribe(
  connection: RabbitmqConnection,
  rules: SessionRules,
  subscription: Subscription,
): Promise<Subscribed> {
  const session = new QueueSession(connection, rules, subscription);
  await joinInTime(session, subscription, () => endpointOf(connection));
  return { lag: () => session.lag(), stop: () => session.stop() };
}
