import { setTimeout as delay } from 'node:timers/promises';
import { OutboxError } from '../../core/errors.ts';
import type { KafkaConnection } from '../../kafka/connection.ts';
import { kafkaLag } from '../../kafka/lag.ts';
import { redeliveryHorizonMs } from '../../kafka/redelivery-horizon.ts';
import type { Source, Subscribed, Subscription } from '../source.ts';
import { GroupSession, type SourcePaces, sourcePaces } from './group-session.ts';

/**
 * Receives from Kafka topics as a member of a consumer group.
 *
 * Offsets are committed after the effects, at the end of each fetched batch and so about every second while messages
 * are being handled. Topics are never created: the first join waits for a missing topic until it times out, and
 * `disconnected` names the topic at once. A topic that is deleted later is reported, too, and looked up every ten
 * seconds, while the others continue.
 */
export function kafkaSource(connection: KafkaConnection, paces: SourcePaces = sourcePaces): Source {
  return {
    name: 'kafka',
    redeliveryHorizonMs: (addresses) => redeliveryHorizonMs(connection, addresses),
    subscribe: (subscription) => subscribe(connection, subscription, paces),
  };
}

async function subscribe(
  connection: KafkaConnection,
  subscription: Subscription,
  paces: SourcePaces,
): Promise<Subscribed> {
  const { joinWithinMs, signal = new AbortController().signal } = subscription;
  const session = new GroupSession(connection, subscription, paces);
  const over = new AbortController();
  const ending = AbortSignal.any([signal, over.signal]);
  const waited = untilOver(joinWithinMs, ending).then(() => false);
  const joined = await Promise.race([session.joined.then(() => true), waited]);
  over.abort();
  if (joined) return { lag: () => kafkaLag(connection, subscription), stop: () => session.stop() };
  const stopped = session.stop();
  signal.throwIfAborted();
  await stopped;
  const { lastError } = session;
  if (lastError instanceof OutboxError && lastError.code === 'OUTBOX_ADDRESS_MISSING') throw lastError;
  const reason = lastError instanceof Error ? lastError.message : 'no answer';
  throw new OutboxError(
    'OUTBOX_SERVER_UNAVAILABLE',
    `The group "${subscription.group}" could not be joined at ${connection.brokers.join(', ')}: ${reason}.`,
    { cause: lastError, details: { group: subscription.group, addresses: subscription.addresses } },
  );
}

/** Timers are limited to about 24 days; a longer wait is not limited at all. */
const longestTimerMs = 2 ** 31 - 1;

async function untilOver(ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= longestTimerMs) return delay(ms, undefined, { signal }).catch(() => undefined);
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
