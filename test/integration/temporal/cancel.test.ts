import { WorkflowFailedError } from '@temporalio/client';
import { CancelledFailure, TerminatedFailure } from '@temporalio/common';
import { beforeAll, expect, test } from 'vitest';
import { reschedule } from '../../../src/outbox/change.ts';
import { send } from '../../../src/outbox/send.ts';
import { endOfFile } from '../../support/fixtures/end-of-file.ts';
import { flawless, judgeJournal } from '../../support/fixtures/journal-check.ts';
import { startLoad } from '../../support/fixtures/load.ts';
import { numbered, openStage, type Stage } from '../../support/fixtures/stage.ts';
import { until } from '../../support/fixtures/until.ts';

const orders = numbered('orders');
const reminders = numbered('reminders');

/** Waits until the workflow sleeps: its first task is done and its timer is set. */
async function untilSleeping(stage: Stage, workflowId: string): Promise<void> {
  await until(
    async () => (await stage.temporal.workflow.getHandle(workflowId).describe()).historyLength >= 5,
  );
}

/** Why the workflow ended without a result. */
async function failureOf(stage: Stage, workflowId: string): Promise<unknown> {
  const error: unknown = await stage.temporal.workflow
    .getHandle(workflowId)
    .result()
    .catch((failure: unknown) => failure);
  return error instanceof WorkflowFailedError ? error.cause : error;
}

const audited = (stage: Stage, id: string): Promise<readonly unknown[]> =>
  stage.database.query(
    'select actor, action, message_id as id, result from outbox.audit where message_id = $1 order by audit.id',
    [id],
  );

/** Of tests whose messages do not meet: a relay takes longer to start than most of them. */
let shared: Stage;
const file = endOfFile();
beforeAll(async () => {
  shared = await openStage(file, { topics: [reminders] });
  await shared.relay();
});

/** A message that waits for an hour in its workflow. */
async function sendSleeping(): Promise<{ readonly id: string; readonly workflowId: string }> {
  const sent = await shared.commit((tx) => send(tx, reminders, { n: 1 }, { after: '1 hour' }));
  await untilSleeping(shared, sent.workflowId);
  return sent;
}

const arrivalsOf = async (id: string): Promise<number> =>
  (await shared.journal()).filter((entry) => entry.id === id).length;

test('Cancel in the Temporal UI cancels the message, and the audit records it', async () => {
  const { id, workflowId } = await sendSleeping();

  await shared.temporal.workflow.getHandle(workflowId).cancel();

  expect(await failureOf(shared, workflowId)).toBeInstanceOf(CancelledFailure);
  expect((await shared.temporal.workflow.getHandle(workflowId).describe()).status.name).toBe('CANCELLED');
  expect(await shared.stateOf(id)).toBe('canceled');
  expect(await audited(shared, id)).toEqual([
    { actor: 'temporal-ui', action: 'cancel', id, result: 'canceled' },
  ]);
  expect(await arrivalsOf(id)).toBe(0);
});

test('Cancel in the Temporal UI that comes too late continues as a new run, which ends with the outcome', async (context) => {
  const stage = await openStage(context, { topics: [reminders] });
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  await stage.relay({}, { before: () => opened });
  context.onTestFinished(() => open());
  const { id, workflowId } = await stage.commit((tx) => send(tx, reminders, { n: 1 }, { after: '500ms' }));
  await until(async () => (await stage.stateOf(id)) === 'ready');
  const first = await stage.temporal.workflow.getHandle(workflowId).describe();

  await stage.temporal.workflow.getHandle(workflowId, first.runId).cancel();
  await until(
    async () => (await stage.temporal.workflow.getHandle(workflowId).describe()).runId !== first.runId,
  );
  open();

  expect(await stage.temporal.workflow.getHandle(workflowId).result()).toMatchObject({
    state: 'published',
    partition: 0,
  });
  expect(await audited(stage, id)).toEqual([
    { actor: 'temporal-ui', action: 'cancel', id, result: 'too-late' },
  ]);
  expect(await stage.journal()).toMatchObject([{ id }]);
});

test('a message whose workflow was terminated is still delivered on time', async () => {
  const { id, workflowId } = await sendSleeping();

  await shared.temporal.workflow.getHandle(workflowId).terminate('a test');
  // As if the hour had gone by, almost.
  await shared.database.query(
    `update outbox.message set due_at = now() + interval '1 second', workflow_due_at = now() + interval '1 second'
     where id = $1`,
    [id],
  );

  expect(await failureOf(shared, workflowId)).toBeInstanceOf(TerminatedFailure);
  await until(async () => (await shared.stateOf(id)) === 'published');
  const [row] = await shared.database.query<{ lateMs: number }>(
    'select extract(epoch from p.at - m.due_at)::float8 * 1000 as "lateMs" from outbox.message m join published p using (id) where id = $1',
    [id],
  );
  expect(row?.lateMs).toBeGreaterThanOrEqual(0);
  // A few hundred milliseconds on a quiet machine. What found out by the hourly comparison only would be minutes late.
  expect(row?.lateMs).toBeLessThan(25_000);
});

test('a waiting message whose workflow was terminated gets another one, which ends it', async () => {
  const { id, workflowId } = await sendSleeping();
  const handle = shared.temporal.workflow.getHandle(workflowId);
  const { runId } = await handle.describe();

  await handle.terminate('a test');

  await until(async () => {
    const { runId: latest, status } = await handle.describe();
    return latest !== runId && status.name === 'RUNNING';
  });
  await handle.cancel();
  await expect(handle.result()).rejects.toThrow(/cancel/i);
  expect(await shared.stateOf(id)).toBe('canceled');
});

test('a sleeping message that is replaced is delivered once, at its new time and with its new content', async () => {
  const waiting = { ref: 'debounced', after: '1 hour' } as const;
  const { id, workflowId } = await shared.commit((tx) => send(tx, reminders, { n: 1 }, waiting));
  await untilSleeping(shared, workflowId);

  await shared.commit((tx) =>
    send(tx, reminders, { n: 2 }, { ref: 'debounced', after: '1 second', replace: true }),
  );

  await until(async () => (await shared.stateOf(id)) === 'published');
  const arrived = (await shared.journal()).filter((entry) => entry.id === id);
  expect(arrived.map(({ payload }) => payload)).toEqual(['{"n":2}']);
});

test('a message whose workflow was terminated gets another one when its time changes', async () => {
  const { id, workflowId } = await sendSleeping();
  const handle = shared.temporal.workflow.getHandle(workflowId);
  // Asked before: a relay may replace it as soon as it has ended.
  const { runId } = await handle.describe();
  await handle.terminate('a test');

  await shared.commit((tx) => reschedule(tx, reminders, { id }, { after: '2 hours' }));
  await until(async () => (await handle.describe()).runId !== runId);
  // Time enough for a busy starter: it replaces no run of a message that is sent meanwhile.
  await shared.commit((tx) => reschedule(tx, reminders, { id }, { after: '5 seconds' }));

  // The earlier time replaces the run that would sleep until the later one.
  await until(async () => (await shared.stateOf(id)) === 'published');
  expect(await handle.result()).toMatchObject({ state: 'published' });
  expect(await arrivalsOf(id)).toBe(1);
});

test.for(['cancel', 'terminate'] as const)(
  'after %s of a lane that is being drained nothing is lost, repeated or reordered',
  async (action, context) => {
    const stage = await openStage(context, { topics: [orders] });
    const relay = await stage.relay();
    const load = startLoad(stage, orders, { perSecond: 200 });
    const handle = stage.temporal.workflow.getHandle(`${stage.installation}/lane/orders/0`);
    for (let round = 1; round <= 2; round += 1) {
      await stage.untilArrived(50);
      const { runId } = await handle.describe();
      await handle[action]();
      await until(async () => (await handle.describe()).runId !== runId);
    }
    await stage.untilArrived(50);
    const committed = await load.stop();
    await stage.untilDelivered(committed, 'orders');

    expect(judgeJournal(await stage.journal(), committed)).toEqual(flawless);
    expect(relay.events.filter(({ type }) => type === 'lane-lost')).toEqual([]);
  },
);
