import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import type { RunningMessages, WorkflowCensus } from '../../relay/ports.ts';
import { messageTaskQueue } from '../task-queues.ts';

const pageSize = 1_000;
/** Younger workflows are ignored: they end by themselves if they have nothing to wait for, or precede their commit. */
const settledAfterMs = 10_000;
/** Ids per query: each has about 80 characters, and the query must be parsed. */
const idsPerQuery = 50;

/** Asks Temporal which messages of one installation have a running workflow. */
export function createWorkflowCensus(client: Client, installation: string): WorkflowCensus {
  const prefix = `${installation}/message/`;
  const running = `TaskQueue = '${messageTaskQueue(installation)}' AND ExecutionStatus = 'Running'`;
  const handleOf = (id: string) => client.workflow.getHandle(`${prefix}${id}`);

  async function listRunning(page: string): Promise<RunningMessages> {
    // All pages of one listing must use the same time, so it is part of the page token.
    const [before = new Date(Date.now() - settledAfterMs).toISOString(), token = ''] =
      page === '' ? [] : page.split(' ');
    const { executions, nextPageToken } = await client.workflowService.listWorkflowExecutions({
      namespace: client.options.namespace,
      query: `${running} AND StartTime < '${before}'`,
      pageSize,
      nextPageToken: Buffer.from(token, 'base64'),
    });
    const ids = executions.flatMap(({ execution }) => idOf(prefix, execution?.workflowId));
    const next =
      nextPageToken.length > 0 ? `${before} ${Buffer.from(nextPageToken).toString('base64')}` : undefined;
    return next === undefined ? { ids } : { ids, next };
  }

  async function findRunning(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const found = new Set<string>();
    for (let from = 0; from < ids.length; from += idsPerQuery) {
      const names = ids.slice(from, from + idsPerQuery).map((id) => `'${prefix}${id}'`);
      const { executions } = await client.workflowService.listWorkflowExecutions({
        namespace: client.options.namespace,
        query: `${running} AND WorkflowId IN (${names.join(', ')})`,
        pageSize,
      });
      for (const { execution } of executions)
        for (const id of idOf(prefix, execution?.workflowId)) found.add(id);
    }
    return found;
  }

  return {
    countRunning: async () => (await client.workflow.count(running)).count,
    listRunning,
    findRunning,
    isRunning: async (id) =>
      (await orNotFound(handleOf(id).describe(), undefined))?.status.name === 'RUNNING',
    end: async (id, reason) =>
      (await orNotFound(handleOf(id).terminate(reason), 'not found')) !== 'not found',
  };
}

/** Runs a command, with another result for a workflow that does not exist or has ended. */
async function orNotFound<Answer, Otherwise>(
  answer: Promise<Answer>,
  otherwise: Otherwise,
): Promise<Answer | Otherwise> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return otherwise;
    throw error;
  }
}

function idOf(prefix: string, workflowId: string | null | undefined): readonly string[] {
  return workflowId?.startsWith(prefix) ? [workflowId.slice(prefix.length)] : [];
}
