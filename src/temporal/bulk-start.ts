import type { Client } from '@temporalio/client';
import type { bulkOperation } from '../../workflows/index.ts';
import { bulkWords } from './workflow-words.ts';

/** Which workflow of a bulk operation is started, and where. */
export interface BulkWorkflowStart {
  readonly id: string;
  readonly workflowId: string;
  /** True: one that runs is ended first. */
  readonly replace: boolean;
  readonly taskQueue: string;
}

/** Makes sure that the workflow of a bulk operation runs. */
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
    // As for lanes: a task that died with its worker goes to the next one soon.
    workflowTaskTimeout: '2 seconds',
  });
}
