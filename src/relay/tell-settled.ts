import type { Settlement } from '../store/lane/settle.ts';
import type { BatchTimes } from './batch-delays.ts';
import type { DrainInput } from './drain-input.ts';

/** Reports a batch that is settled. */
export function tellSettled(
  { lane, route, report }: Pick<DrainInput, 'lane' | 'route' | 'report'>,
  { batch, changes }: Settlement,
  took: BatchTimes,
): void {
  report({
    type: 'batch-settled',
    acknowledged: batch?.count ?? 0,
    exceptions: changes.filter((change) => change.to !== 'published').length,
    transport: route.transport.name,
    ...took,
    ...lane,
  });
}
