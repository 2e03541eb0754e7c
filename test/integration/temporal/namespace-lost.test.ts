// @module-tag apart
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { reschedule } from '../../../src/outbox/change.ts';
import { send } from '../../../src/outbox/send.ts';
import { deleteNamespace, registerNamespace } from '../../support/fixtures/namespaces.ts';
import { openParkedStage } from '../../support/fixtures/parked-stage.ts';
import { numbered, openStage } from '../../support/fixtures/stage.ts';
import { until } from '../../support/fixtures/until.ts';

const reminders = numbered('reminders');

test.concurrent('after the namespace was deleted and created again, everything waiting gets its workflow and is delivered on time', {
  tags: ['no-loss'],
}, async (context) => {
  const namespace = `lost-${randomUUID()}`;
  await registerNamespace(namespace);
  const stage = await openStage(context, { topics: [reminders], namespace });
  // A comparison that a part of the server still starts in the old namespace is lost; the next one must not take a minute.
  await stage.relay({ timings: { scheduleCheckIntervalMs: 500, reconcileIntervalMs: 5_000 } });
  const store = (n: number, after: `${number} seconds` | '1 hour') =>
    stage.commit((tx) => send(tx, reminders, { n }, { after }));
  const soon = [];
  for (let n = 1; n <= 6; n += 1) soon.push(await store(n, `${8 + 2 * n} seconds`));
  const late = await store(7, '1 hour');
  const lateRun = () => stage.temporal.workflow.getHandle(late.workflowId).describe();
  await until(async () => (await lateRun()).historyLength >= 5);
  const before = await lateRun();

  await deleteNamespace(namespace);
  await registerNamespace(namespace);

  // Parts of the server continue with the old namespace for a while. A worker has taken the new run when its timer is set.
  await until(async () => {
    const { runId, historyLength } = await lateRun();
    return runId !== before.runId && historyLength >= 5;
  }, 150_000);
  const [back] = await stage.database.query<{ at: Date }>('select clock_timestamp() as at');
  const afterwards = await stage.commit((tx) =>
    reschedule(tx, reminders, { id: late.id }, { after: '1 second' }),
  );
  expect(afterwards).toBe('rescheduled');
  await until(async () => (await stage.arrived()) > soon.length, 150_000);

  const arrivals = await stage.database.query<{ earlyMs: number; lateMs: number }>(
    `select extract(epoch from m.due_at - p.at)::float8 * 1000 as "earlyMs",
       extract(epoch from p.at - greatest(m.due_at, $1))::float8 * 1000 as "lateMs"
     from outbox.message m join published p using (id)`,
    [back?.at],
  );
  expect(arrivals).toHaveLength(soon.length + 1);
  for (const { earlyMs, lateMs } of arrivals) {
    expect(earlyMs).toBeLessThanOrEqual(0);
    // A few hundred milliseconds on a quiet machine; a message that gets no workflow back stays late.
    expect(lateMs).toBeLessThan(60_000);
  }
  expect(await stage.temporal.workflow.getHandle(late.workflowId).result()).toMatchObject({
    state: 'published',
  });
});

test.concurrent('a namespace that was deleted and created again gets its workflows back', async (context) => {
  const namespace = `handle-${randomUUID()}`;
  await registerNamespace(namespace);
  const stage = await openParkedStage(context, { namespace });
  const { workflowId } = await stage.park('k', 3_600_000);
  stage.host();
  await stage.untilSleeping(workflowId);
  await until(async () => (await stage.keys()).every(({ told }) => told));

  await deleteNamespace(namespace);
  await registerNamespace(namespace);
  await stage.makeLate(5_000);

  await stage.untilDrained(120_000);
});
