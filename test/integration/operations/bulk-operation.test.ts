import { setTimeout as delay } from 'node:timers/promises';
import { WorkflowFailedError } from '@temporalio/client';
import { CancelledFailure } from '@temporalio/common';
import { expect, test } from 'vitest';
import {
  bulkWorkflow,
  expectAuditedOnce,
  operationsAt,
  statesAt,
  storeFailed,
} from '../../support/fixtures/bulk-stage.ts';
import { openTransaction } from '../../support/fixtures/open-transaction.ts';
import { ada } from '../../support/fixtures/operator.ts';
import { numbered, openStage, type Stage } from '../../support/fixtures/stage.ts';
import { until } from '../../support/fixtures/until.ts';

const orders = numbered('orders');
const failed = { topic: 'orders', states: ['failed'] } as const;
const steps = 'select actor, action, result from outbox.audit where message_id is null order by id';

/** Locks the last of these messages: until it is free, for half a minute at most, no operation on them can be done. */
async function keepOneBack({ url }: Stage, ids: readonly string[]): Promise<{ release(): Promise<void> }> {
  const holder = await openTransaction(url);
  await holder.query('select from outbox.message where id = $1 for update', [ids.at(-1)]);
  return { release: () => holder.rollback() };
}

test('1,500 failed messages are retried at a rate, with a pause in between, each once', async (context) => {
  const stage = await openStage(context, { topics: [orders] });
  const operator = operationsAt(stage, context);
  const ids = await storeFailed(stage, 'orders', 1_500);
  const last = await keepOneBack(stage, ids);
  await stage.relay();

  const startedAt = performance.now();
  const answer = await operator.bulk.start(
    failed,
    { action: 'retry' },
    { ...ada, ratePerSecond: 500, expect: 1_500 },
  );
  const id = answer.id ?? '';
  const answered = async (): Promise<number> => (await operator.bulk.show(id)).answered;
  await until(async () => (await answered()) >= 500);
  const running = await operator.bulk.show(id);
  expect(running.progress).toBeGreaterThan(0);
  expect(running.progress).toBeLessThan(1);
  expect(running.etaMs).toBeGreaterThan(0);

  expect(await operator.bulk.pause(id, ada)).toEqual({ changed: true, state: 'paused' });
  await last.release();
  // The page that was under way is finished now: the row was locked by it.
  const paused = await answered();
  expect(paused).toBeLessThan(1_500);
  await delay(1_500);
  expect(await answered()).toBe(paused);
  expect(await operator.bulk.resume(id, ada)).toEqual({ changed: true, state: 'running' });
  await until(async () => (await operator.bulk.show(id)).state !== 'running', 60_000);

  expect(await operator.bulk.show(id)).toMatchObject({
    state: 'done',
    counts: { retried: 1_500 },
    progress: 1,
    pending: 0,
  });
  expect(await bulkWorkflow(stage, id).result()).toEqual({ state: 'done', counts: { retried: 1_500 } });
  // Three pages at one a second, of which one may be caught up.
  expect(performance.now() - startedAt).toBeGreaterThan(1_400);
  await expectAuditedOnce(stage, id, ids);
  await until(async () => (await statesAt(stage)).published === 1_500, 60_000);
  expect(new Set((await stage.journal()).map((entry) => entry.id)).size).toBe(1_500);
});

test('Cancel in the Temporal UI aborts the operation, and the audit records it', async (context) => {
  const stage = await openStage(context, { topics: [orders] });
  const operator = operationsAt(stage, context);
  await storeFailed(stage, 'orders', 500);
  await stage.relay();
  const { id: started } = await operator.bulk.start(
    failed,
    { action: 'discard' },
    { ...ada, ratePerSecond: 20 },
  );
  const id = started ?? '';
  await until(async () => (await operator.bulk.show(id)).answered > 0);

  await bulkWorkflow(stage, id).cancel();

  const failure: unknown = await bulkWorkflow(stage, id)
    .result()
    .catch((error: unknown) => error);
  expect(failure instanceof WorkflowFailedError && failure.cause).toBeInstanceOf(CancelledFailure);
  expect(await operator.bulk.show(id)).toMatchObject({ state: 'aborted' });
  expect(await stage.database.query(steps)).toEqual([
    { actor: 'ada', action: 'bulk-start', result: 'done' },
    { actor: 'temporal-ui', action: 'bulk-abort', result: 'done' },
  ]);
});

test('an operation whose workflow was terminated is started again and repeats nothing', async (context) => {
  const stage = await openStage(context, { topics: [orders] });
  const operator = operationsAt(stage, context);
  const ids = await storeFailed(stage, 'orders', 300);
  const last = await keepOneBack(stage, ids);
  await stage.relay();
  const { id: started } = await operator.bulk.start(
    failed,
    { action: 'discard' },
    { ...ada, ratePerSecond: 100 },
  );
  const id = started ?? '';
  await until(async () => (await operator.bulk.show(id)).answered > 0);
  await bulkWorkflow(stage, id).terminate('a test');
  await until(async () => {
    // A minute without a page, after the one that was under way.
    await stage.database.query(
      `update outbox.bulk_operation set told_at = told_at - interval '61 seconds', updated_at = updated_at - interval '61 seconds'
       where greatest(told_at, updated_at) > clock_timestamp() - interval '60 seconds'`,
    );
    return (await bulkWorkflow(stage, id).describe()).status.name !== 'TERMINATED';
  });
  await last.release();

  await until(async () => (await operator.bulk.show(id)).state !== 'running');

  expect(await operator.bulk.show(id)).toMatchObject({ state: 'done', counts: { discarded: 300 } });
  await expectAuditedOnce(stage, id, ids);
});
