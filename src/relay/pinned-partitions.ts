import type { Hold } from '../brokers/transport.ts';
import { reasonOf } from '../core/reason.ts';
import { pinPartitions, readPartitions } from '../store/lane/topics.ts';
import type { DrainInput } from './drain-input.ts';

/**
 * The number of partitions by which keys are placed, or the hold if the broker cannot be asked for it yet.
 *
 * @param settled gives up a call of the transport that never settles
 */
export async function pinnedPartitions(
  { database, route }: Pick<DrainInput, 'database' | 'route'>,
  settled: (ask: () => Promise<number>) => Promise<number>,
): Promise<number | Hold> {
  const { transport } = route;
  if (transport.partitionCount === undefined) return 1;
  const pinned = await readPartitions(database, route.name);
  if (pinned !== null) return pinned;
  try {
    const seen = await settled(async () => transport.partitionCount?.(route.rules.address) ?? 1);
    return await pinPartitions(database, route.name, seen);
  } catch (error) {
    return { scope: 'topic', reason: reasonOf(error) };
  }
}
