import type { Client } from '@temporalio/client';
import type { bulkOperation } from '../../workflows/index.ts';
import { bulkWords } from './workflow-words.ts';

/** The workflow of a bulk operation to start. */
export interface BulkWorkflowStart {
  readonly id: string;
  readonly workflowId: string;
  /** True: a running one is ended first. */
  readonly replace: boolean;
  readonly taskQueue: string;
}

/** Ensures that the workflow of a bulk operation runs. */
export async function startBulkWorkflow(
  client: Client,
  { id, workflowId, replace, taskQueue }: BulkWorkflowStart,
): Promise<void> {
  await client.workflow.start<typeof bulkOperation>('bulkOperation', {
    workflowId,
    taskQueue,
    args: [id],
    ...bulkWords(id),
    workflowIdConflictPolicy: replace ? 'TERMINATE_EXISTING' : 'USE_EXISTING',
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    // As for lanes: the task of a dead worker soon goes to the next one.
    workflowTaskTimeout: '2 seconds',
  });
}
