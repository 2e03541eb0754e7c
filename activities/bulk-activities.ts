import type { BulkPageAnswer, BulkRunner } from '../src/bulk/bulk-runner.ts';
import { withHeartbeat } from './heartbeat.ts';

/** Activities of the workflow `bulkOperation`. */
export interface BulkActivities {
  /** Runs the next page of the operation. */
  runBulkPage(id: string): Promise<BulkPageAnswer>;
  /** Aborts the operation, because its workflow was canceled. @returns false if it had already ended */
  abortBulk(id: string): Promise<boolean>;
}

export function createBulkActivities(bulk: BulkRunner): BulkActivities {
  return {
    runBulkPage: (id) => withHeartbeat((signal, progress) => bulk.runPage(id, progress, signal)),
    abortBulk: (id) => withHeartbeat(() => bulk.abort(id, 'temporal-ui')),
  };
}
