import type { Admin } from 'kafkajs';
import { OutboxError } from '../../../core/errors.ts';
import { rest } from '../../../core/rest.ts';
import type { BrokerTopics } from '../../capabilities.ts';
import { askBrokers } from './ask-brokers.ts';
import type { KafkaConnection } from './connection.ts';
import { unavailable } from './unavailable.ts';

/** Leaves a number to the defaults of the brokers. */
const asBrokersDo = -1;

/** The topics of a cluster. */
export function kafkaTopics(connection: KafkaConnection): BrokerTopics {
  return {
    missing: (addresses) => missingTopics(connection, addresses),
    create: (topic, partitions = asBrokersDo) =>
      askBrokers(connection, (admin) => createUntilShown(admin, topic, partitions)).catch(
        (error: unknown) => {
          throw error instanceof OutboxError ? error : unavailable(connection, error);
        },
      ),
  };
}

/** Names that brokers take, but for `.` and `..`. */
const lawful = /^[\w.-]{1,249}$/;

/** Between looks for a topic that was created. */
const lookEveryMs = 100;
const shownWithinMs = 5_000;

/**
 * Creates a topic, and waits for a few seconds until the brokers show it: the controller answers before they know of it, and the
 * client's own wait for leaders takes that for a failure.
 *
 * @returns `false` if it exists already
 * @throws OutboxError `OUTBOX_OPTION_INVALID` for a name that brokers refuse, with an error that does not say why
 */
export async function createUntilShown(
  admin: Pick<Admin, 'createTopics' | 'listTopics'>,
  topic: string,
  partitions: number,
): Promise<boolean> {
  if (!lawful.test(topic))
    throw new OutboxError(
      'OUTBOX_OPTION_INVALID',
      `Kafka can have no topic "${topic}": a name has up to 249 of the characters a-z, A-Z, 0-9, ".", "_" and "-". Is the setting "transport" of its topic missing?`,
      { details: { option: 'address', address: topic } },
    );
  const created = await admin.createTopics({
    topics: [{ topic, numPartitions: partitions, replicationFactor: asBrokersDo }],
    waitForLeaders: false,
  });
  if (created) await untilShown(admin, topic);
  return created;
}

async function untilShown(admin: Pick<Admin, 'listTopics'>, topic: string): Promise<void> {
  const endsAt = performance.now() + shownWithinMs;
  while (!(await admin.listTopics()).includes(topic) && performance.now() < endsAt) await rest(lookEveryMs);
}

/**
 * The topics among the given ones that the brokers do not have, or do not show.
 *
 * @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE` when no broker answers
 */
export async function missingTopics(
  connection: KafkaConnection,
  topics: readonly string[],
): Promise<readonly string[]> {
  const known = await askBrokers(connection, (admin) => admin.listTopics()).catch((error: unknown) => {
    throw unavailable(connection, error);
  });
  return topics.filter((topic) => !known.includes(topic));
}
