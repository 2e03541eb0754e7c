import type { BrokerGroups } from '../../capabilities.ts';
import { askMasters, lookUp, type Master, make, questions } from './administration.ts';
import type { RocketmqConnection } from './connection.ts';
import { typeAt } from './create-topic.ts';
import { nameWithin } from './names.ts';
import { addressMissing, groupUnfit } from './unavailable.ts';

/** Only crashes and stops count as deliveries, and what exceeds the limit is out of reach of the consumer. */
const retries = 1_000_000;
/**
 * A group with fewer deliveries than this is refused. Every crash and stop of a consumer is a delivery of all that it holds, and what has
 * had too many of them goes where no consumer gets it.
 */
export const leastAttempts = 1_000;

const named = (group: string): string => `the consumer group ${group}`;

/** The settings of a group, as a broker reports them. */
interface GroupFound {
  readonly consumeMessageOrderly: boolean;
  readonly retryMaxTimes: number;
}

/** The consumer groups of the masters. One that receives from a topic of type FIFO keeps order. */
export function consumerGroups(connection: RocketmqConnection): BrokerGroups {
  return {
    async missing(group) {
      const found = await askMasters(connection, `look for ${named(group)}`, (master) =>
        groupSettingsAt(master, connection, group),
      );
      return found.includes(undefined) ? [named(group)] : [];
    },
    async create(group, addresses) {
      const fifo = await fifoAmong(connection, addresses);
      const made = await askMasters(connection, `create ${named(group)}`, (master) =>
        createAt(master, connection, group, fifo),
      );
      return made.includes(true) ? [named(group)] : [];
    },
  };
}

async function createAt(
  master: Master,
  connection: RocketmqConnection,
  group: string,
  fifo: readonly string[],
): Promise<boolean> {
  const found = await groupSettingsAt(master, connection, group);
  if (found !== undefined) {
    refuseUnfit(connection, group, found, fifo);
    return false;
  }
  const settings = {
    groupName: nameWithin(connection, group),
    consumeEnable: true,
    consumeMessageOrderly: fifo.length > 0,
    retryQueueNums: 1,
    retryMaxTimes: retries,
    brokerId: 0,
    whichBrokerWhenConsumeSlowly: 1,
  };
  await make(master, named(group), {
    code: questions.updateGroup,
    body: Buffer.from(JSON.stringify(settings)),
  });
  return true;
}

/** The settings of a group at one master; `undefined`: it is not there. */
export async function groupSettingsAt(
  master: Master,
  connection: RocketmqConnection,
  group: string,
): Promise<GroupFound | undefined> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the shape of this answer in the protocol
  return (await lookUp(master, named(group), {
    code: questions.group,
    fields: { group: nameWithin(connection, group) },
  })) as GroupFound | undefined;
}

/** @throws OutboxError `OUTBOX_GROUP_UNFIT` */
function refuseUnfit(
  connection: RocketmqConnection,
  group: string,
  { consumeMessageOrderly, retryMaxTimes }: GroupFound,
  fifo: readonly string[],
): void {
  if (retryMaxTimes < leastAttempts)
    throw groupUnfit(
      connection,
      `the consumer group ${group} exists and moves messages to %DLQ%${group} after ${retryMaxTimes} retries, where no consumer gets them.`,
    );
  if (!consumeMessageOrderly && fifo.length > 0)
    throw groupUnfit(
      connection,
      `the consumer group ${group} exists and keeps no order, and ${fifo.join(', ')} is of type FIFO.`,
    );
}

/** Those of type FIFO, as masters know them: a proxy learns of a new topic late. @throws OutboxError `OUTBOX_ADDRESS_MISSING` */
async function fifoAmong(
  connection: RocketmqConnection,
  addresses: readonly string[],
): Promise<readonly string[]> {
  const fifo: string[] = [];
  const missing: string[] = [];
  for (const address of addresses) {
    const types = await askMasters(connection, `look for the topic ${address}`, (master) =>
      typeAt(master, connection, address),
    );
    if (types.includes('FIFO')) fifo.push(address);
    if (types.every((type) => type === undefined)) missing.push(address);
  }
  if (missing.length > 0) throw addressMissing(connection, missing);
  return fifo;
}
