import type { CommittedLag } from '../../capabilities.ts';
import type { Lag, Subscription } from '../../source.ts';
import { askBrokers } from './ask-brokers.ts';
import type { KafkaConnection } from './connection.ts';
import { unavailable } from './unavailable.ts';

/**
 * The lag of a group by its committed offsets, so up to a second of work too high. Counts offsets: compaction and transactions
 * leave offsets without a message.
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
 * The lags of groups in each topic where they have committed an offset.
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
    const ends = new Map<string, bigint>();
    for (const address of addresses) {
      for (const { partition, high } of await admin.fetchTopicOffsets(address))
        ends.set(`${address}/${partition}`, BigInt(high));
    }
    const lags: CommittedLag[] = [];
    for (const group of groups) {
      const committed = await admin.fetchOffsets({ groupId: group, topics: [...addresses] });
      for (const { topic, partitions } of committed) {
        const known = partitions.filter(({ offset }) => BigInt(offset) >= 0n);
        if (known.length === 0) continue;
        const behind = known.map(({ partition, offset }) =>
          larger((ends.get(`${topic}/${partition}`) ?? 0n) - BigInt(offset), 0n),
        );
        lags.push({ group, address: topic, messages: Number(behind.reduce((sum, one) => sum + one, 0n)) });
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
