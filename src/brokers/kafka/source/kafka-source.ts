import { joinInTime } from '../../join-in-time.ts';
import type { Source, Subscribed, Subscription } from '../../source.ts';
import type { KafkaConnection } from '../client/connection.ts';
import { kafkaLag } from '../client/lag.ts';
import { redeliveryPeriodMs } from '../client/redelivery-period.ts';
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
    redeliveryPeriodMs: (addresses) => redeliveryPeriodMs(connection, addresses),
    subscribe: (subscription) => subscribe(connection, subscription, paces),
  };
}

async function subscribe(
  connection: KafkaConnection,
  subscription: Subscription,
  paces: SourcePaces,
): Promise<Subscribed> {
  const session = new GroupSession(connection, subscription, paces);
  await joinInTime(session, subscription, () => connection.servers.join(', '));
  return { lag: () => kafkaLag(connection, subscription), stop: () => session.stop() };
}
