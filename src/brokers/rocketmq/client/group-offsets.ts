import { createHash } from 'node:crypto';
import { readJson } from '../../../core/json.ts';
import { isObject } from '../../../core/options/collections.ts';
import type { BrokerOffsets, CommittedLag } from '../../capabilities.ts';
import {
  askMasters,
  firstLine,
  isDone,
  isUnknown,
  type Master,
  notOfRocketmq,
  questions,
} from './administration.ts';
import type { RocketmqConnection } from './connection.ts';
import { groupSettingsAt } from './consumer-groups.ts';
import { nameWithin } from './names.ts';
import { addressMissing, groupUnfit, serverFailure } from './unavailable.ts';

/** More queues than any topic has at a broker. */
const queuesPerBroker = 65_536;
/** A queue and its numbers. These answers are not JSON: their keys are objects. */
const entry = /\{([^{}]*"queueId"[^{}]*)\}:(\{[^{}]*\})/g;

/** What a master reports of a queue. */
interface QueueNumbers {
  readonly partition: number;
  readonly numbers: Readonly<Record<string, number>>;
}

/**
 * How far consumer groups are, as the masters know it: at the first message that is not acknowledged. For a group without order
 * they count what its consumers hold as done, so how far it is cannot be known (`OUTBOX_GROUP_UNFIT`).
 */
export function groupOffsets(connection: RocketmqConnection): BrokerOffsets {
  const ask = async (code: number, address: string, fields: Readonly<Record<string, string>>) => {
    const queues = await askMasters(connection, `look how far groups of ${address} are`, (master) =>
      queuesAt(connection, master, address, { code, fields }),
    );
    return queues.flat();
  };
  const statsOf = (group: string, address: string) =>
    ask(questions.groupStats, address, { consumerGroup: nameWithin(connection, group) });
  return {
    async committed(group, address) {
      const settings = await askMasters(connection, `look for the consumer group ${group}`, (master) =>
        groupSettingsAt(master, connection, group),
      );
      if (settings.some((one) => one?.consumeMessageOrderly === false))
        throw groupUnfit(
          connection,
          `the consumer group ${group} keeps no order, and brokers count what its consumers hold as done: nothing can be sent again for lack of a receipt.`,
        );
      const queues = await statsOf(group, address);
      return new Map(queues.map(({ numbers, partition }) => [partition, String(numbers['consumerOffset'])]));
    },
    async ends(address) {
      const queues = await ask(questions.topicStats, address, {});
      const filled = queues.filter(
        ({ numbers }) => (numbers['maxOffset'] ?? 0) > (numbers['minOffset'] ?? 0),
      );
      return new Map(filled.map(({ numbers, partition }) => [partition, String(numbers['maxOffset'])]));
    },
    async lags(groups, addresses) {
      const lags: CommittedLag[] = [];
      for (const address of addresses)
        for (const group of groups) {
          const queues = await statsOf(group, address);
          if (!queues.some(({ numbers }) => (numbers['consumerOffset'] ?? 0) > 0)) continue;
          const behind = queues.map(({ numbers }) =>
            Math.max(0, (numbers['brokerOffset'] ?? 0) - (numbers['consumerOffset'] ?? 0)),
          );
          lags.push({ group, address, messages: behind.reduce((sum, one) => sum + one, 0) });
        }
      return lags;
    },
  };
}

async function queuesAt(
  connection: RocketmqConnection,
  master: Master,
  address: string,
  { code, fields }: { readonly code: number; readonly fields: Readonly<Record<string, string>> },
): Promise<readonly QueueNumbers[]> {
  const answer = await master.ask({ code, fields: { ...fields, topic: nameWithin(connection, address) } });
  if (isUnknown(answer)) throw addressMissing(connection, [address]);
  if (!isDone(answer))
    throw serverFailure(connection, new Error(`${master.name}: ${firstLine(answer.remark)}`));
  return [...answer.body.toString().matchAll(entry)].map(([, key = '', value = '']) => {
    const queue = Number(/"queueId":(\d+)/.exec(key)?.[1]);
    const numbers = readJson(value);
    if (!areNumbers(numbers) || Number.isNaN(queue)) throw notOfRocketmq(master.name);
    return { partition: partitionAt(master.name, queue), numbers };
  });
}

function areNumbers(value: unknown): value is QueueNumbers['numbers'] {
  return isObject(value) && Object.values(value).every((one) => typeof one === 'number');
}

/** The same number for a queue whichever other brokers there are. */
function partitionAt(broker: string, queue: number): number {
  return createHash('md5').update(broker).digest().readUInt32BE(0) * queuesPerBroker + queue;
}
