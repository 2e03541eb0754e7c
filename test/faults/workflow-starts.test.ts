import { randomUUID } from 'node:crypto';
import { expect, inject, test } from 'vitest';
import { cancel } from '../../src/outbox/change.ts';
import { type Stored, send } from '../../src/outbox/send.ts';
import { fromQuery } from '../../src/store/database/transaction.ts';
import { startFaultProxy } from '../support/faults/fault-proxy.ts';
import { faultRounds, faultTimeoutMs } from '../support/faults/fault-scale.ts';
import { openFaultStage } from '../support/faults/fault-stage.ts';
import { journalTransport } from '../support/fixtures/journal.ts';
import { openTransaction } from '../support/fixtures/open-transaction.ts';
import { numbered, openStage, type Stage } from '../support/fixtures/stage.ts';
import { until } from '../support/fixtures/until.ts';
import { startRelayProcess } from '../support/processes/relay-process.ts';

const reminders = numbered('reminders');
/** It is in every request that starts the workflow of a message, and in no other. */
const startRequest = 'deliverMessage';

/** Starts the workflow of a message by hand, and answers what it ended with. */
function byHand(stage: Stage, id: string): Promise<unknown> {
  return stage.temporal.workflow.execute('deliverMessage', {
    workflowId: `${stage.installation}/message/${id}`,
    taskQueue: `${stage.installation}/messages`,
    args: [{ id, dueInMs: 0 }],
  });
}

test('I1 I5 F20: when the answers to starts of workflows are lost, each message has one workflow and is delivered once', {
  timeout: faultTimeoutMs(300_000),
}, async (context) => {
  const stage = await openStage(context, { topics: [reminders] });
  const proxy = await startFaultProxy(inject('temporalAddress'), 20);
  context.onTestFinished(() => proxy.close());
  const relayed = openFaultStage(context, {
    url: stage.url,
    topics: [reminders],
    temporalAddress: proxy.address,
    transport: () => journalTransport(stage.url),
  });
  await relayed.relay();
  const rounds = faultRounds(6);
  const stored: Stored[] = [];
  proxy.inject({ kind: 'lose-reply', to: startRequest, times: rounds, silentMs: 100 });
  // One after the other, so that the answer to each of these starts is lost.
  for (let n = 1; n <= rounds; n += 1) {
    // Due when the last of these starts has been asked for, so that none is released without one.
    stored.push(await stage.commit((tx) => send(tx, reminders, { n }, { after: '15s' })));
    await until(() => proxy.fired('lose-reply') >= n);
  }
  proxy.heal();
  const canceled = await stage.commit((tx) => send(tx, reminders, { n: 0 }, { after: '15s', ref: 'r' }));
  expect(await stage.commit((tx) => cancel(tx, reminders, 'r'))).toBe('canceled');
  await until(async () => (await stage.arrived()) >= rounds, 90_000);

  const journal = await stage.journal();
  expect(journal.map(({ id }) => id).toSorted()).toEqual(stored.map(({ id }) => id).toSorted());
  expect(journal.map(({ id }) => id)).not.toContain(canceled.id);
  for (const { workflowId } of stored) {
    const handle = stage.temporal.workflow.getHandle(workflowId);
    expect(await handle.result()).toMatchObject({ state: 'published' });
  }
  const runs = async (): Promise<readonly string[]> => {
    const query = `WorkflowType = 'deliverMessage' AND TaskQueue = '${stage.installation}/messages'`;
    const found: string[] = [];
    for await (const { workflowId } of stage.temporal.workflow.list({ query })) found.push(workflowId);
    return found;
  };
  const started = stored.map(({ workflowId }) => workflowId).toSorted();
  await until(async () => (await runs()).length >= rounds, 60_000);
  expect((await runs()).filter((id) => id !== canceled.workflowId).toSorted()).toEqual(started);
});

test('I1 F21: a message whose relay died between the commit and the start of its workflow gets it from another within a minute', {
  tags: ['no-loss'],
}, async (context) => {
  const stage = await openStage(context, { topics: [reminders] });
  const proxy = await startFaultProxy(inject('temporalAddress'), 21);
  context.onTestFinished(() => proxy.close());
  const victim = await startRelayProcess({
    url: stage.url,
    temporalAddress: proxy.address,
    topics: [reminders],
  });
  context.onTestFinished(() => victim.end());
  proxy.inject({ kind: 'lose-request', to: startRequest });
  const { id, workflowId } = await stage.commit((tx) => send(tx, reminders, { n: 1 }, { after: '1h' }));
  const exists = (): Promise<boolean> =>
    stage.temporal.workflow
      .getHandle(workflowId)
      .describe()
      .then(
        () => true,
        () => false,
      );
  const told = async (): Promise<boolean> => {
    const [row] = await stage.database.query<{ told: boolean }>(
      'select workflow_due_at is not null as told from outbox.message where id = $1',
      [id],
    );
    return row?.told ?? false;
  };
  await until(() => proxy.fired('lose-request') > 0);
  victim.signal('SIGKILL');
  await victim.exited;
  const diedAt = performance.now();
  expect([await exists(), await told()]).toEqual([false, false]);

  await stage.relay();
  await until(exists, 90_000);

  // Seconds where nothing else runs, the start of the other relay included.
  expect(performance.now() - diedAt).toBeLessThan(60_000);
  await until(told);
});

test('I2 F21: a workflow for a message that is unknown or rolled back ends silently', {
  tags: ['no-ghost'],
}, async (context) => {
  const stage = await openStage(context, { topics: [reminders] });
  await stage.relay();
  expect(await byHand(stage, randomUUID())).toMatchObject({ state: 'unknown' });

  const id = randomUUID();
  const open = await openTransaction(stage.url);
  await send(
    fromQuery((text, values) => open.query(text, values)),
    reminders,
    { n: 1 },
    { id, after: '1s' },
  );
  expect(await byHand(stage, id)).toMatchObject({ state: 'unknown' });
  await open.rollback();
  const later = await stage.commit((tx) => send(tx, reminders, { n: 2 }, { after: '1500ms' }));
  await until(async () => (await stage.stateOf(later.id)) === 'published', 60_000);

  expect((await stage.journal()).map((entry) => entry.id)).toEqual([later.id]);
});

test('I1 F21: a workflow that ran before the commit of its transaction does not prevent the delivery of its message', async (context) => {
  const stage = await openStage(context, { topics: [reminders] });
  await stage.relay();
  const id = randomUUID();
  const open = await openTransaction(stage.url);
  await send(
    fromQuery((text, values) => open.query(text, values)),
    reminders,
    { n: 1 },
    // Its own workflow is started before it is due, also on a busy machine: a sweep needs none.
    { id, after: '12s' },
  );
  expect(await byHand(stage, id)).toMatchObject({ state: 'unknown' });
  await open.commit();
  await until(async () => (await stage.stateOf(id)) === 'published', 90_000);

  expect((await stage.journal()).map((entry) => entry.id)).toEqual([id]);
  const result: unknown = await stage.temporal.workflow
    .getHandle(`${stage.installation}/message/${id}`)
    .result();
  expect(result).toMatchObject({ state: 'published' });
}, 180_000);
