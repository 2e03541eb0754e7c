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
 * are being handled. Topics are never created: while one is missing the first join waits, and then fails, and
 * `disconnected` tells at once which. One that is deleted later is told so, too, and looked for every ten seconds, while
 * the others go on.
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

/** Timers know no time of more than 24 days: who is to wait for longer waits without an end. */
const longestTimerMs = 2 ** 31 - 1;

async function untilOver(ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= longestTimerMs) return delay(ms, undefined, { signal }).catch(() => undefined);
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
