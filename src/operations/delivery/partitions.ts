import { OutboxError } from '../../core/errors.ts';
import type { Database } from '../../store/database/database.ts';
import { beginChange, type TopicCounts } from '../../store/lane/lanes-change.ts';
import { pinNewPartitions } from '../../store/lane/repartition.ts';
import { authorOf } from '../operation-options.ts';
import {
  emptyLanes,
  invalidCount,
  knownTopic,
  type LanesChangeOptions,
  overtaken,
  type Patience,
  patienceOf,
  type TopicChangeAnswer,
} from './lanes.ts';

/** What the broker knows about a topic's address. */
export interface BrokerView {
  /** How many partitions there are now. */
  partitionCount(address: string): Promise<number>;
  /** Number of messages of the address that the group has not passed yet. */
  lag(group: string, address: string): Promise<number>;
}

/** Options of a change of partitions. */
export interface PartitionOptions extends LanesChangeOptions {
  /** Consumer groups that must have passed all messages before the change. @defaultValue none */
  readonly groups?: readonly string[] | undefined;
}

/**
 * Places keys by another number of partitions, which must already exist at the broker.
 *
 * The topic is not delivered meanwhile: relays finish what they have in hand, and the named groups pass all messages of the
 * existing partitions. Only for these groups is the order of a key kept across the change: a key may move, and a lagging
 * group may read its new partition before its old one.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID`, `OUTBOX_TOPIC_UNKNOWN`, `OUTBOX_CHANGE_UNDER_WAY`,
 * `OUTBOX_SERVER_UNAVAILABLE` if the broker does not answer
 */
export async function changePartitions(
  database: Database,
  viewOf: (topic: TopicCounts) => BrokerView,
  topic: string,
  partitions: number,
  options: PartitionOptions,
): Promise<TopicChangeAnswer> {
  const before = await knownTopic(database, topic);
  const broker = viewOf(before);
  const there = await broker.partitionCount(before.address);
  if (!Number.isInteger(partitions) || partitions < 1 || partitions > there)
    throw invalidCount('partitions', `an integer from 1 to ${there}, the number of partitions at the broker`);
  if (before.partitions === partitions && before.change === null) return { done: true, moved: 0 };
  const change = await beginChange(
    database,
    { topic, kind: 'partitions', wanted: partitions },
    authorOf(options),
  );
  const patience = patienceOf(options);
  const busy = await emptyLanes(database, topic, patience);
  if (busy.length > 0) return { done: false, waitingFor: 'deliveries', who: busy };
  const lagging = await outwait(broker, before.address, options.groups ?? [], patience);
  if (lagging.length > 0) return { done: false, waitingFor: 'consumers', who: lagging };
  try {
    await pinNewPartitions(database, change, authorOf(options));
    return { done: true, moved: 0 };
  } catch (error) {
    return overtaken(database, change, error);
  }
}

/** Waits until the groups have passed all messages, and returns those that have not. */
async function outwait(
  broker: BrokerView,
  address: string,
  groups: readonly string[],
  patience: Patience,
): Promise<readonly string[]> {
  for (;;) {
    const lags = await Promise.allSettled(groups.map((group) => broker.lag(group, address)));
    const behind = lags.flatMap((lag, index) => {
      if (lag.status === 'rejected') return [`${groups[index]} (unknown)`];
      return lag.value > 0 ? [`${groups[index]} (${lag.value})`] : [];
    });
    if (behind.length === 0) return [];
    if (await patience.again()) continue;
    // A coordinator that is still loading is asked again; one that never answers is an error.
    const failure = lags.find((lag) => lag.status === 'rejected');
    if (failure === undefined) return behind;
    throw new OutboxError(
      'OUTBOX_SERVER_UNAVAILABLE',
      `The lag of consumer groups on ${address} cannot be read.`,
      {
        cause: failure.reason,
        details: { address, groups },
      },
    );
  }
}
