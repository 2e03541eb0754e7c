import { type Client, WorkflowFailedError } from '@temporalio/client';
import type { whichDatabase } from '../../../workflows/index.ts';
import type { AskPlace } from '../../relay/ports.ts';
import { maintenanceTaskQueue } from '../task-queues.ts';

/** Running relays answer within milliseconds. */
const answerWithinMs = 3_000;

/** Asks the relays of one installation; one of those that poll its task queue answers. */
export function createPlaceAsker(client: Client, installation: string): AskPlace {
  return async (question, signal) => {
    const handle = await client.workflow.start<typeof whichDatabase>('whichDatabase', {
      workflowId: `${installation}/which-database/${question}`,
      taskQueue: maintenanceTaskQueue(installation),
      args: [question],
      workflowExecutionTimeout: answerWithinMs,
      workflowTaskTimeout: '1 second',
      staticSummary: 'Do all relays of this installation use the same database?',
    });
    const aborted = new Promise<undefined>((resolve) => {
      signal.addEventListener('abort', () => resolve(undefined), { once: true });
      if (signal.aborted) resolve(undefined);
    });
    return Promise.race([aborted, handle.result().catch(noAnswer)]);
  };
}

/** No relay answered in time. */
function noAnswer(error: unknown): undefined {
  if (error instanceof WorkflowFailedError) return undefined;
  throw error;
}
