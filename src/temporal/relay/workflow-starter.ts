import type { Client } from '@temporalio/client';
import type { deliverLane, deliverMessage } from '../../../workflows/index.ts';
import type { WorkflowStarter } from '../../relay/ports.ts';
import { startBulkWorkflow } from '../bulk-start.ts';
import { type Searchable, searchAttributePairs } from '../search-attributes.ts';
import { laneTaskQueue, maintenanceTaskQueue, messageTaskQueue } from '../task-queues.ts';
import { laneWords, messageWords } from '../workflow-words.ts';
import { watchTerminated } from './terminated-messages.ts';

/** Starts workflows by id, so that any number of relays may start the same one. */
export function createWorkflowStarter(
  client: Client,
  installation: string,
  searchAttributes: boolean,
): WorkflowStarter {
  // Without registered search attributes the same facts go into the memo: visible, but not searchable.
  const visible = (facts: Searchable) =>
    searchAttributes ? { typedSearchAttributes: searchAttributePairs(facts) } : { memo: { ...facts } };

  return {
    terminatedMessages: watchTerminated(client, installation),
    async startLane({ topic, lane, workflowId, replace }) {
      await client.workflow.start<typeof deliverLane>('deliverLane', {
        workflowId,
        taskQueue: laneTaskQueue(installation),
        args: [{ topic, lane }],
        workflowIdConflictPolicy: replace ? 'TERMINATE_EXISTING' : 'USE_EXISTING',
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        ...laneWords({ topic, lane }),
        // A task that was given to a worker that has just died goes to the next one after this time, not after the
        // default of ten seconds. The lane's own tasks take milliseconds.
        workflowTaskTimeout: '2 seconds',
        ...visible({ topic }),
      });
    },
    async startMessage(start) {
      const { id, workflowId, topic, key, ref, dueInMs, replace } = start;
      await client.workflow.start<typeof deliverMessage>('deliverMessage', {
        workflowId,
        taskQueue: messageTaskQueue(installation),
        args: [{ id, dueInMs }],
        ...messageWords(start),
        workflowIdConflictPolicy: replace ? 'TERMINATE_EXISTING' : 'USE_EXISTING',
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        ...visible(start.visible ? { topic, key, ref } : { topic }),
      });
    },
    startBulk: (start) =>
      startBulkWorkflow(client, { ...start, taskQueue: maintenanceTaskQueue(installation) }),
  };
}
