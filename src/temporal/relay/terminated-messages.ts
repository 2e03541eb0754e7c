import type { Client } from '@temporalio/client';
import { messageTaskQueue } from '../task-queues.ts';

/** How far back a relay looks when it starts, and how much later than it closed a workflow may become visible. */
const firstWindowMs = 60 * 60_000;
const overlapMs = 60_000;
/** Runs remembered as told of; when there are more, some are told of twice, which does no harm. */
const rememberedRuns = 10_000;

/**
 * Answers, at each call, the messages whose workflow was terminated since the call before. One query of the visibility
 * store, whatever the number of messages.
 */
export function watchTerminated(client: Client, installation: string): () => Promise<readonly string[]> {
  const seen = new Set<string>();
  let since = Date.now() - firstWindowMs;

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
