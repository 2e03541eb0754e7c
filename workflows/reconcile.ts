import { proxyActivities } from '@temporalio/workflow';
import type { ReconcileActivities } from '../activities/maintenance-activities.ts';
import type { Reconciliation } from '../src/relay/reconcile.ts';

const { reconcileWorkflows } = proxyActivities<ReconcileActivities>({
  startToCloseTimeout: '5 minutes',
  heartbeatTimeout: '5 seconds',
  // The schedule starts the next run within a minute; it continues a comparison that was too long for one run.
  retry: { initialInterval: '1 second', maximumInterval: '10 seconds', maximumAttempts: 3 },
});

/** One comparison of rows with workflows; a schedule starts it. Returns the counts of both sides and the repairs. */
export async function reconcile(): Promise<Reconciliation> {
  return reconcileWorkflows();
}
