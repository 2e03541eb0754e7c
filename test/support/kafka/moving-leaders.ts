import type { Admin } from 'kafkajs';
import { until } from '../fixtures/until.ts';

const brokers = [1, 2, 3] as const;

/** The two replicas of a partition after so many moves; every move takes its leader away and leaves the other. */
function replicasOf(partition: number, moves: number): number[] {
  return [0, 1].map((place) => brokers[(partition + moves + place) % brokers.length] ?? 1);
}

/** Where partitions lie at first, each with a leader of its own. */
export function assignment(partitions: number): { partition: number; replicas: number[] }[] {
  return Array.from({ length: partitions }, (_, partition) => ({
    partition,
    replicas: replicasOf(partition, 0),
  }));
}

/** Has every partition of these topics led by another broker, and waits until that is so. */
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
