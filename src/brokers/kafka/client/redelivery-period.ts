import { OutboxError } from '../../../core/errors.ts';
import type { KafkaConnection } from './connection.ts';
import { type KafkaTopicSettings, kafkaTopicSettings } from './topic-settings.ts';
import { missingTopics } from './topics.ts';
import { missing, unavailable } from './unavailable.ts';

const retention = 'retention.ms';
const policy = 'cleanup.policy';
/** What a broker answers to a client that may not ask. */
const forbidden: ReadonlySet<unknown> = new Set([
  'CLUSTER_AUTHORIZATION_FAILED',
  'TOPIC_AUTHORIZATION_FAILED',
]);

/**
 * The longest `retention.ms` of the topics; `Infinity` if one keeps messages forever. Kafka deletes whole segments, so a
 * message may outlive this by the time during which its segment was written (`segment.ms`).
 *
 * @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE`; `OUTBOX_ADDRESS_MISSING` for a topic that does not exist;
 * `OUTBOX_PRIVILEGE_MISSING` for one whose settings this client may not read
 */
export async function redeliveryPeriodMs(
  connection: KafkaConnection,
  topics: readonly string[],
): Promise<number> {
  const found = await kafkaTopicSettings(connection, topics, [retention, policy]).catch(
    async (cause: unknown) => {
      const gone = await missingTopics(connection, topics).catch((): readonly string[] => []);
      if (gone.length > 0) throw missing(connection, gone);
      throw forbidden.has(typeOf(cause))
        ? unreadable(connection, topics, cause)
        : unavailable(connection, cause);
    },
  );
  return Math.max(0, ...found.map(keptForMs));
}

function typeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'type' in error ? error.type : undefined;
}

function unreadable({ servers }: KafkaConnection, topics: readonly string[], cause: unknown): OutboxError {
  return new OutboxError(
    'OUTBOX_PRIVILEGE_MISSING',
    `Kafka at ${servers.join(', ')} does not let this client read the settings of ${topics.join(', ')} (DescribeConfigs): for how long their messages may arrive again is unknown. A consumer with the window 'forever' need not know.`,
    { cause, details: { servers: [...servers], addresses: [...topics] } },
  );
}

/** How long a topic with these settings keeps a message, in milliseconds. */
export function keptForMs(settings: KafkaTopicSettings): number {
  const deletes = (settings.get(policy) ?? 'delete').split(',').some((one) => one.trim() === 'delete');
  const keptMs = Number(settings.get(retention) ?? -1);
  return deletes && keptMs >= 0 ? keptMs : Number.POSITIVE_INFINITY;
}
