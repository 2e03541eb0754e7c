import type { Admin } from 'kafkajs';
import { until } from '../fixtures/until.ts';

const brokers = [1, 2, 3] as const;

/** The two replicas of a partition after this many moves; every move removes the leader and keeps the other replica. */
function replicasOf(partition: number, moves: number): number[] {
  return [0, 1].map((place) => brokers[(partition + moves + place) % brokers.length] ?? 1);
}

/** The initial assignment of partitions, each with a different leader. */
export function assignment(partitions: number): { partition: number; replicas: number[] }[] {
  return Array.from({ length: partitions }, (_, partition) => ({
    partition,
    replicas: replicasOf(partition, 0),
  }));
}

/** Moves the leader of every partition of these topics to another broker, and waits until the move is complete. */
export async function moveLeaders(
  admin: Admin,
  topics: readonly string[],
  partitions: number,
  moves: number,
): Promise<void> {
  const partitionAssignment = Array.from({ length: partitions }, (_, partition) => ({
    partition,
    replicas: replicasOf(partition, moves),
  }));
  await admin.alterPartitionReassignments({
    topics: topics.map((topic) => ({ topic, partitionAssignment })),
  });
  await until(async () => {
    const { topics: moving } = await admin.listPartitionReassignments({});
    return moving.length === 0;
  }, 60_000);
}
