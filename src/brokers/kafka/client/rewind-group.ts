import type { Admin } from 'kafkajs';
import { OutboxError } from '../../../core/errors.ts';
import type { Rewinding, RewoundPartition } from '../../../core/rewinding.ts';
import { startTimer } from '../../../core/timer.ts';
import { askBrokers } from './ask-brokers.ts';
import type { KafkaConnection } from './connection.ts';
import { unavailable } from './unavailable.ts';

/** Longer than a group takes to be joined and left once. */
const setWithinMs = 60_000;

/**
 * Sets a group back to the first messages of a topic whose timestamp is not before a time.
 *
 * @throws OutboxError `OUTBOX_GROUP_IN_USE` while it has members, `OUTBOX_SERVER_UNAVAILABLE`
 */
export async function rewindKafkaGroup(
  connection: KafkaConnection,
  { group, address, to, dryRun }: Rewinding,
): Promise<readonly RewoundPartition[]> {
  return askBrokers(connection, async (admin) => {
    await refuseMembers(admin, group);
    const places = await placesOf(admin, group, address, to);
    const earlier = places.filter(({ before, after }) => before !== after);
    if (!dryRun && earlier.length > 0)
      await inTime(
        admin.setOffsets({
          groupId: group,
          topic: address,
          partitions: earlier.map(({ partition, after }) => ({ partition, offset: after })),
        }),
      );
    return places;
  }).catch((error: unknown) => {
    throw error instanceof OutboxError ? error : unavailable(connection, error);
  });
}

async function refuseMembers(admin: Admin, group: string): Promise<void> {
  const { groups } = await admin.describeGroups([group]);
  const count = groups.reduce((sum, { members }) => sum + members.length, 0);
  if (count === 0) return;
  throw new OutboxError(
    'OUTBOX_GROUP_IN_USE',
    `The group "${group}" has ${count} ${count === 1 ? 'member' : 'members'} at Kafka.`,
    { details: { group, members: count } },
  );
}

async function placesOf(
  admin: Admin,
  group: string,
  address: string,
  to: Date,
): Promise<readonly RewoundPartition[]> {
  const [committed] = await admin.fetchOffsets({ groupId: group, topics: [address] });
  const found = await admin.fetchTopicOffsetsByTimestamp(address, to.getTime());
  const first = new Map(found.map(({ partition, offset }) => [partition, offset]));
  return (committed?.partitions ?? [])
    .filter(({ offset }) => BigInt(offset) >= 0n)
    .map(({ partition, offset }) => {
      const wanted = first.get(partition) ?? offset;
      return { partition, before: offset, after: BigInt(wanted) < BigInt(offset) ? wanted : offset };
    })
    .toSorted((a, b) => a.partition - b.partition);
}

/** The client waits for an event of its own consumer, which never comes if that fails meanwhile. */
async function inTime(work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = startTimer(() => reject(new Error('the group could not be joined in time')), setWithinMs);
  });
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
}
