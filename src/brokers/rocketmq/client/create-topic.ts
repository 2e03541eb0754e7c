import { OutboxError } from '../../../core/errors.ts';
import { askMasters, lookUp, type Master, make, questions } from './administration.ts';
import type { RocketmqConnection } from './connection.ts';
import { nameWithin } from './names.ts';

/** As many as `mqadmin updateTopic` makes. */
const usualQueues = 8;
const usable = new Set(['FIFO', 'NORMAL']);

const topicNamed = (topic: string): string => `the topic ${topic}`;

/**
 * Creates a topic of type FIFO, which keeps the order of keys, on every master that lacks it.
 *
 * @returns whether a master lacked it
 * @throws OutboxError as `BrokerTopics.create`
 */
export async function createTopic(
  connection: RocketmqConnection,
  topic: string,
  queues = usualQueues,
): Promise<boolean> {
  const made = await askMasters(connection, `create ${topicNamed(topic)}`, (master) =>
    createAt(master, connection, topic, queues),
  );
  return made.includes(true);
}

async function createAt(
  master: Master,
  connection: RocketmqConnection,
  topic: string,
  queues: number,
): Promise<boolean> {
  const type = await typeAt(master, connection, topic);
  if (type !== undefined && !usable.has(type))
    throw new OutboxError(
      'OUTBOX_ADDRESS_UNFIT',
      `RocketMQ has the topic ${topic} with the type ${type}: messages are sent to topics of type FIFO or NORMAL.`,
      { details: { topic, type } },
    );
  if (type !== undefined) return false;
  await make(master, topicNamed(topic), {
    code: questions.updateTopic,
    fields: {
      topic: nameWithin(connection, topic),
      defaultTopic: 'TBW102',
      readQueueNums: String(queues),
      writeQueueNums: String(queues),
      perm: '6',
      topicFilterType: 'SINGLE_TAG',
      topicSysFlag: '0',
      order: 'false',
      attributes: '+message.type=FIFO',
    },
  });
  return true;
}

/** The type of a topic at one master; `undefined`: it is not there. */
export async function typeAt(
  master: Master,
  connection: RocketmqConnection,
  topic: string,
): Promise<string | undefined> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the shape of this answer in the protocol
  const found = (await lookUp(master, topicNamed(topic), {
    code: questions.topic,
    fields: { topic: nameWithin(connection, topic) },
  })) as { readonly attributes?: Readonly<Record<string, string>> } | undefined;
  return found && (found.attributes?.['message.type'] ?? 'NORMAL');
}
