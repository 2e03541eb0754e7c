import type { CommittedLag } from '../../capabilities.ts';
import type { Lag, Subscription } from '../../source.ts';
import { askBrokers } from './ask-brokers.ts';
import type { KafkaConnection } from './connection.ts';
import { unavailable } from './unavailable.ts';

/**
 * The lag of a group by its committed offsets, so up to a second of work too high. Counts offsets, also those that compaction and
 * transactions leave without a message: a source commits that it has passed them, other consumers may not.
 *
 * @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE`
 */
export async function kafkaLag(
  connection: KafkaConnection,
  { addresses, group, fromBeginning }: Pick<Subscription, 'addresses' | 'group' | 'fromBeginning'>,
): Promise<readonly Lag[]> {
  const { committed, logs } = await askBrokers(connection, async (admin) => ({
    committed: await admin.fetchOffsets({ groupId: group, topics: [...addresses] }),
    logs: await Promise.all(
      addresses.map(async (address) => ({ address, partitions: await admin.fetchTopicOffsets(address) })),
    ),
  })).catch((cause: unknown) => {
    throw unavailable(connection, cause);
  });
  const offsetOf = new Map(
    committed.flatMap(({ topic, partitions }) =>
      partitions.map(({ partition, offset }) => [`${topic}/${partition}`, BigInt(offset)] as const),
    ),
  );
  return logs.flatMap(({ address, partitions }) =>
    partitions.map(({ partition, low, high }) => {
      const known = offsetOf.get(`${address}/${partition}`) ?? -1n;
      const start = fromBeginning ? BigInt(low) : BigInt(high);
      // Any other negative offset means that kafkajs has reset it to the oldest message.
      const from = known === -1n ? start : larger(known, BigInt(low));
      return { address, partition, messages: Number(larger(BigInt(high) - from, 0n)) };
    }),
  );
}

/**
 * The lags of groups in each topic where they have committed an offset. Such a group reads a partition where it has committed
 * nothing from its oldest message on, as a source does.
 *
 * @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE`
 */
export async function committedLags(
  connection: KafkaConnection,
  groups: readonly string[],
  addresses: readonly string[],
): Promise<readonly CommittedLag[]> {
  if (groups.length === 0 || addresses.length === 0) return [];
  return askBrokers(connection, async (admin) => {
    const logs = await Promise.all(
      addresses.map(async (address) => ({ address, partitions: await admin.fetchTopicOffsets(address) })),
    );
    const lags: CommittedLag[] = [];
    for (const group of groups) {
      const committed = await admin.fetchOffsets({ groupId: group, topics: [...addresses] });
      for (const { address, partitions } of logs) {
        const known = new Map(
          committed
            .filter(({ topic }) => topic === address)
            .flatMap((one) => one.partitions)
            .filter(({ offset }) => BigInt(offset) >= 0n)
            .map(({ offset, partition }) => [partition, BigInt(offset)]),
        );
        if (known.size === 0) continue;
        const behind = partitions.map(({ high, low, partition }) =>
          larger(BigInt(high) - larger(known.get(partition) ?? 0n, BigInt(low)), 0n),
        );
        lags.push({ group, address, messages: Number(behind.reduce((sum, one) => sum + one, 0n)) });
      }
    }
    return lags;
  }).catch((cause: unknown) => {
    throw unavailable(connection, cause);
  });
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
