import { expect, test } from 'vitest';
import { cancel } from '../../../src/outbox/change.ts';
import { send } from '../../../src/outbox/send.ts';
import { reconcileWorkflows } from '../../../src/relay/reconcile.ts';
import { readReconciliation } from '../../../src/store/verify/reconciliation.ts';
import { createWorkflowCensus } from '../../../src/temporal/relay/workflow-census.ts';
import { numbered, openStage, type Stage } from '../../support/fixtures/stage.ts';
import { until } from '../../support/fixtures/until.ts';

const reminders = numbered('reminders');
const often = { reconcileIntervalMs: 1_000, archiveIntervalMs: 1_000, scheduleCheckIntervalMs: 200 };

/** Sends messages that are due in an hour, and waits until their workflows sleep. */
async function waiting(stage: Stage, count: number): Promise<readonly { id: string; workflowId: string }[]> {
  const stored = [];
  for (let n = 0; n < count; n += 1)
    stored.push(await stage.commit((tx) => send(tx, reminders, { n }, { after: '1 hour' })));
  for (const { workflowId } of stored)
    await until(async () => (await handleOf(stage, workflowId).describe()).historyLength >= 5);
  return stored;
}

const handleOf = (stage: Stage, workflowId: string) => stage.temporal.workflow.getHandle(workflowId);

async function statusOf(stage: Stage, workflowId: string): Promise<string> {
  return handleOf(stage, workflowId)
    .describe()
    .then(({ status }) => status.name)
    .catch(() => 'GONE');
}

/** Takes a workflow away without a trace. */
async function remove(stage: Stage, workflowId: string): Promise<void> {
  await stage.temporal.workflowService.deleteWorkflowExecution({
    namespace: stage.temporal.options.namespace,
    workflowExecution: { workflowId },
  });
  await until(async () => (await statusOf(stage, workflowId)) === 'GONE');
}

const compare = (stage: Stage) =>
  reconcileWorkflows({
    database: stage.database,
    census: createWorkflowCensus(stage.temporal, stage.installation),
    signal: new AbortController().signal,
    progress: () => undefined,
  });

test('workflows that vanished are back within a run of the schedule, others are left alone, and Temporal shows the results', async (context) => {
  const stage = await openStage(context, { topics: [reminders] });
  const relay = await stage.relay({ timings: often });
  const all = await waiting(stage, 4);
  const runs = await Promise.all(all.map(({ workflowId }) => handleOf(stage, workflowId).describe()));
  const [first, second, ...others] = all;
  if (first === undefined || second === undefined) throw new Error('Four were sent.');
  for (const { workflowId } of [first, second]) await remove(stage, workflowId);

  await until(async () => (await statusOf(stage, first.workflowId)) === 'RUNNING');
  await until(async () => (await statusOf(stage, second.workflowId)) === 'RUNNING');
  await until(async () => (await readReconciliation(stage.database))?.restarted === 0);

  const [row] = await stage.database.query<{ restarted: number; ended: number }>(
    'select sum(restarted)::integer as restarted, sum(ended)::integer as ended from outbox.reconciliation',
  );
  expect(row?.restarted).toBeGreaterThanOrEqual(2);
  expect(row?.ended).toBe(0);
  for (const { workflowId } of others) {
    const { runId, status } = await handleOf(stage, workflowId).describe();
    expect(status.name).toBe('RUNNING');
    expect(runs.map((run) => run.runId)).toContain(runId);
  }
  const shown = async (type: string): Promise<unknown> => {
    const query = `WorkflowType = '${type}' AND TaskQueue = '${stage.installation}/maintenance' AND ExecutionStatus = 'Completed'`;
    for await (const { workflowId, runId } of stage.temporal.workflow.list({ query }))
      return stage.temporal.workflow.getHandle(workflowId, runId).result();
    return undefined;
  };
  await expect.poll(() => shown('reconcile')).toMatchObject({ workflows: expect.any(Number), ended: 0 });
  await expect.poll(() => shown('archive')).toMatchObject({ archived: 0, complete: true });
  expect(relay.events.filter(({ type }) => type === 'error')).toEqual([]);
});

test('the workflow of a canceled or deleted message is ended with the reason in its history', async (context) => {
  const stage = await openStage(context, { topics: [reminders] });
  const relay = await stage.relay();
  const [canceled, deleted, kept] = await waiting(stage, 3);
  if (canceled === undefined || deleted === undefined || kept === undefined)
    throw new Error('Three were sent.');
  await relay.stop();
  await stage.commit((tx) => cancel(tx, reminders, { id: canceled.id }));
  await stage.database.query(
    `update outbox.message set updated_at = now() - interval '1 minute' where id = $1`,
    [canceled.id],
  );
  await stage.database.query('delete from outbox.message where id = $1', [deleted.id]);
  // The relay has compared everything when it began; the difference of the counts has it done again.
  let ended = 0;
  await until(async () => (ended += (await compare(stage)).ended) >= 2);

  expect(await statusOf(stage, canceled.workflowId)).toBe('TERMINATED');
  expect(await statusOf(stage, deleted.workflowId)).toBe('TERMINATED');
  expect(await statusOf(stage, kept.workflowId)).toBe('RUNNING');
  const { events } = await handleOf(stage, canceled.workflowId).fetchHistory();
  expect(events?.at(-1)?.workflowExecutionTerminatedEventAttributes?.reason).toBe(
    'temporal-outbox: the message is canceled',
  );
});

test('a comparison right after many starts restarts none of them, although the index lags', async (context) => {
  const stage = await openStage(context, { topics: [reminders] });
  const relay = await stage.relay();
  for (let n = 0; n < 30; n += 1) await stage.commit((tx) => send(tx, reminders, { n }, { after: '1 hour' }));
  await until(
    async () =>
      (await stage.database.query(`select from outbox.message where workflow_due_at is distinct from due_at`))
        .length === 0,
  );

  expect(await compare(stage)).toMatchObject({ rows: 30, restarted: 0, ended: 0 });
  await relay.stop();
});
