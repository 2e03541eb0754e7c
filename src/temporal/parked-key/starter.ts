import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import type { drainParkedKey } from '../../../workflows/index.ts';
import type { BulkWorkflows, ParkedKeyStart, ParkedKeyWorkflows } from '../../inbox/ports.ts';
import { startBulkWorkflow } from '../bulk-start.ts';
import { readNamespaceId } from '../namespace-look.ts';
import { type Searchable, searchAttributePairs } from '../search-attributes.ts';
import { keptBulkTaskQueue, parkedKeyTaskQueue } from '../task-queues.ts';
import { keyWords } from '../workflow-words.ts';

export interface ParkedKeyStarterInput {
  readonly client: Client;
  readonly installation: string;
  readonly group: string;
  /** Whether the Temporal UI may show keys of this topic. */
  readonly visible: (topic: string) => boolean;
  /** False: the namespace lacks the search attributes. */
  readonly searchAttributes: boolean;
}

/** Limit of a start, so that a server that does not answer does not delay the stop of a consumer. */
const startTimeoutMs = 5_000;
/** Temporal rejects a search attribute of more than 2 KiB, and keys of other senders may have any length. */
const longestShownKey = 1_024;

/** Starts workflows of parked keys by id, so that any number of consumers may start the same one. */
export function createParkedKeyStarter(
  input: ParkedKeyStarterInput,
): Pick<ParkedKeyWorkflows, 'start' | 'check'> {
  const { client, installation, group, visible, searchAttributes } = input;
  const taskQueue = parkedKeyTaskQueue(installation, group);

  // Without registered search attributes the same facts go into the memo: visible, but not searchable.
  function described({ topic, key, dueInMs }: ParkedKeyStart) {
    const shown = key !== null && visible(topic) && Buffer.byteLength(key) <= longestShownKey;
    const facts: Searchable = shown ? { topic, key } : { topic };
    return {
      ...keyWords({ topic, key: visible(topic) ? key : null, group, dueInMs }),
      ...(searchAttributes ? { typedSearchAttributes: searchAttributePairs(facts) } : { memo: { ...facts } }),
    };
  }

  /** Whether no drain is scheduled: one that waits for a free slot is merely late, and a restart would not help. */
  async function isIdle(workflowId: string): Promise<boolean> {
    const handle = client.workflow.getHandle(workflowId);
    try {
      const { raw } = await client.withDeadline(Date.now() + startTimeoutMs, () => handle.describe());
      return (raw.pendingActivities ?? []).length === 0;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return true;
      throw error;
    }
  }

  return {
    async check() {
      await client.withDeadline(Date.now() + startTimeoutMs, () => readNamespaceId(client));
    },
    async start(start) {
      const { keyId, workflowId, dueInMs } = start;
      const replace =
        start.replace === 'always' || (start.replace === 'if-idle' && (await isIdle(workflowId)));
      await client.withDeadline(Date.now() + startTimeoutMs, () =>
        client.workflow.start<typeof drainParkedKey>('drainParkedKey', {
          workflowId,
          taskQueue,
          args: [{ keyId, dueInMs: Math.max(0, dueInMs) }],
          workflowIdConflictPolicy: replace ? 'TERMINATE_EXISTING' : 'USE_EXISTING',
          workflowIdReusePolicy: 'ALLOW_DUPLICATE',
          // As for lanes: the task of a dead worker soon goes to the next one.
          workflowTaskTimeout: '2 seconds',
          ...described(start),
        }),
      );
    },
  };
}

/** Starts workflows of bulk operations on messages that the group keeps. */
export function createBulkStarter({
  client,
  installation,
  group,
}: Pick<ParkedKeyStarterInput, 'client' | 'installation' | 'group'>): BulkWorkflows['start'] {
  const taskQueue = keptBulkTaskQueue(installation, group);
  return (bulk) =>
    client.withDeadline(Date.now() + startTimeoutMs, () => startBulkWorkflow(client, { ...bulk, taskQueue }));
}
