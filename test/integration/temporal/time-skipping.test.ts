import type { TestWorkflowEnvironment } from '@temporalio/testing';
import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';
import { expect, type TestContext, test } from 'vitest';
import { cancel } from '../../../src/outbox/change.ts';
import { send } from '../../../src/outbox/send.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { numbered, openStage, quietTemporal, type Stage } from '../../support/fixtures/stage.ts';
import { startTimeSkipping } from '../../support/fixtures/time-skipping.ts';
import { until } from '../../support/fixtures/until.ts';

const orderTimeout = numbered('order-timeout', { horizon: '31 days' });

/** A server of its own, because workflows that others left behind would hold its time. */
async function startServer(context: TestContext): Promise<TestWorkflowEnvironment> {
  quietTemporal();
  return startTimeSkipping(context);
}

/** The clock of the outbox runs ahead of the database's by what the server has skipped. */
async function replaceClock(database: Database): Promise<void> {
  await database.query('create table skipped (by interval not null)');
  await database.query(`insert into skipped values ('0')`);
  await database.query(
    `create or replace function outbox.clock() returns timestamptz language sql stable
     as $$ select now() + (select by from public.skipped) $$`,
  );
}

/** Temporal's time moves only while workflows sleep; the outbox learns of it before each activity. */
function followServer(server: TestWorkflowEnvironment, database: Database): ActivityInboundCallsInterceptor {
  return {
    async execute(input, next) {
      const skippedMs = (await server.currentTimeMs()) - Date.now();
      await database.query(`update skipped set by = greatest(by, $1 * interval '1 ms')`, [skippedMs]);
      return next(input);
    },
  };
}

interface SkippingStage extends Stage {
  readonly server: TestWorkflowEnvironment;
}

async function skippingStage(context: TestContext): Promise<SkippingStage> {
  const server = await startServer(context);
  const stage = await openStage(context, { topics: [orderTimeout], temporalAddress: server.address });
  await replaceClock(stage.database);
  const inbound = followServer(server, stage.database);
  await stage.relay({ workers: { interceptors: { activity: [() => ({ inbound })] } } });
  return { ...stage, server };
}

async function untilSleeping(stage: Stage, workflowId: string): Promise<void> {
  await until(
    async () => (await stage.temporal.workflow.getHandle(workflowId).describe()).historyLength >= 5,
  );
}

/** Awaits the workflow of a message, while time is skipped. */
function outcome({ server }: SkippingStage, workflowId: string): Promise<unknown> {
  return server.client.workflow.getHandle(workflowId).result();
}

const minute = 60_000;
const day = 24 * 60 * minute;

test('a message that waits for 30 days is published once, when it is due, and one that was canceled while it waited never', async (context) => {
  const stage = await skippingStage(context);
  const sent = (n: number, after: '15 minutes' | '16 minutes' | '30 days') =>
    stage.commit((tx) => send(tx, orderTimeout, { n }, { after, ref: `order-${n}` }));
  const late = await sent(1, '30 days');
  const dropped = await sent(2, '15 minutes');
  const other = await sent(3, '16 minutes');
  for (const { workflowId } of [late, dropped, other]) await untilSleeping(stage, workflowId);
  await stage.server.sleep(10 * minute);

  expect(await stage.commit((tx) => cancel(tx, orderTimeout, 'order-2'))).toBe('canceled');

  expect(await outcome(stage, dropped.workflowId)).toMatchObject({ state: 'canceled' });
  expect(await outcome(stage, other.workflowId)).toMatchObject({ state: 'published' });
  expect(await stage.journal()).toMatchObject([{ id: other.id }]);
  expect(await stage.stateOf(dropped.id)).toBe('canceled');

  await stage.server.sleep(30 * day - 20 * minute);
  expect(await stage.stateOf(late.id)).toBe('waiting');
  expect(await outcome(stage, late.workflowId)).toMatchObject({ state: 'published', partition: 0 });
  expect((await stage.journal()).map(({ id }) => id)).toEqual([other.id, late.id]);
  const [row] = await stage.database.query<{ lateMs: number }>(
    `select extract(epoch from published_at - due_at)::float8 * 1000 as "lateMs" from outbox.message where id = $1`,
    [late.id],
  );
  expect(row?.lateMs).toBeGreaterThanOrEqual(0);
  // What the machine takes; a workflow that slept on would be late by minutes or days.
  expect(row?.lateMs).toBeLessThan(50_000);
});
