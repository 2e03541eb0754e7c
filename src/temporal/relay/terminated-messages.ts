import type { Client } from '@temporalio/client';
import { messageTaskQueue } from '../task-queues.ts';

/** How far back a relay looks when it starts, and how long a closed workflow may take to become visible. */
const firstLookBackMs = 60 * 60_000;
const overlapMs = 60_000;
/** Runs remembered as reported; if there are more, some are reported twice, which is harmless. */
const rememberedRuns = 10_000;

/**
 * Makes a function that returns the messages whose workflow was terminated since its last call. Each call makes one
 * visibility query, whatever the number of messages.
 */
export function watchTerminated(client: Client, installation: string): () => Promise<readonly string[]> {
  const seen = new Set<string>();
  let since = Date.now() - firstLookBackMs;

  return async () => {
    const askedAt = Date.now();
    const from = new Date(since - overlapMs).toISOString();
    const query = `TaskQueue = '${messageTaskQueue(installation)}' AND ExecutionStatus = 'Terminated' AND CloseTime >= '${from}'`;
    const ids: string[] = [];
    for await (const { workflowId, runId } of client.workflow.list({ query })) {
      if (seen.has(runId)) continue;
      if (seen.size >= rememberedRuns) seen.clear();
      seen.add(runId);
      ids.push(workflowId.slice(workflowId.lastIndexOf('/') + 1));
    }
    since = askedAt;
    return ids;
  };
}
