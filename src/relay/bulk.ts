import { type BulkRunner, createBulkRunner } from '../bulk/bulk-runner.ts';
import type { Database } from '../store/database/database.ts';
import { sendNudge } from '../store/lane/nudge.ts';
import type { RelayReport } from './report.ts';

/** Makes the runner of bulk operations on outbox messages. */
export function createRelayBulkRunner(database: Database, report: RelayReport): BulkRunner {
  return createBulkRunner({
    database,
    async paged(page) {
      if ((page.kind === 'more' || page.kind === 'done') && page.lanes.length > 0)
        await sendNudge(database, page.lanes).catch(() => undefined);
    },
    ended: (id, counts) => report({ type: 'bulk-ended', id, counts }),
    failed: (error) => report({ type: 'error', during: 'bulk', error }),
  });
}
