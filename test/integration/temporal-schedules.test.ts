import { randomUUID } from 'node:crypto';
import { expect, test, vi } from 'vitest';
import { reschedule } from '../../src/outbox/change.ts';
import { send } from '../../src/outbox/send.ts';
import { scheduleIds } from '../../src/temporal/schedules.ts';
import { deleteNamespace, registerNamespace } from '../support/namespaces.ts';
import { numbered, openStage, type Stage } from '../support/stage.ts';
import { until } from '../support/until.ts';

// Workers, servers and commands start in seconds on a quiet machine, and in ten times that on a busy one.
vi.setConfig({ testTimeout: 180_000 });

const reminders = numbered('reminders');

const scheduleOf = (stage: Stage, name: 'reconcile' | 'archive') =>
  stage.temporal.schedule.getHandle(scheduleIds(stage.installation)[name]);

const exists = (stage: Stage, name: 'reconcile' | 'archive') =>
  scheduleOf(stage, name)
    .describe()
    .then(() => true);

const everyMs = async (stage: Stage, name: 'reconcile' | 'archive') =>
  (await scheduleOf(stage, name).describe()).spec.intervals?.[0]?.every;

test('several relays make each schedule once, each minute and each five minutes, without overlap', async (context) => {
  const stage = await openStage(context, { topics: [reminders] });
  const relays = await Promise.all([stage.relay(), stage.relay()]);

  await until(() => exists(stage, 'reconcile'));
  await until(() => exists(stage, 'archive'));

  expect(await everyMs(stage, 'reconcile')).toBe(60_000);
  expect(await everyMs(stage, 'archive')).toBe(300_000);
  const { policies, action } = await scheduleOf(stage, 'archive').describe();
  expect(policies.overlap).toBe('SKIP');
  expect(action.taskQueue).toBe(`${stage.installation}/maintenance`);
  const failures = relays.flatMap(({ events }) => events.filter(({ type }) => type === 'failed'));
  expect(failures).toEqual([]);
});

test('a schedule that was deleted is made again', async (context) => {
  const stage = await openStage(context, { topics: [reminders] });
  await stage.relay({ settings: { scheduleCheck: 100 } });
  for (const name of ['reconcile', 'archive'] as const) {
    await until(() => exists(stage, name));
    const { info } = await scheduleOf(stage, name).describe();
    await scheduleOf(stage, name).delete();
    await until(async () => {
      const again = await scheduleOf(stage, name).describe();
      return again.info.createdAt.getTime() > info.createdAt.getTime();
    });
  }
});

test('a changed interval changes the schedule, which stays paused when an operator has paused it', async (context) => {
  const stage = await openStage(context, { topics: [reminders] });
  const first = await stage.relay();
  await until(() => exists(stage, 'archive'));
  await scheduleOf(stage, 'archive').pause('a test');
  await first.stop();

  await stage.relay({ settings: { archive: '7s' } });

  await until(async () => (await everyMs(stage, 'archive')) === 7_000);
  const { state } = await scheduleOf(stage, 'archive').describe();
  expect(state).toMatchObject({ paused: true, note: 'a test' });
  expect(await everyMs(stage, 'reconcile')).toBe(60_000);
});

test('after the namespace was deleted and made again, everything that waits gets its workflow and is delivered on time', {
  timeout: 400_000,
}, async (context) => {
  const namespace = `lost-${randomUUID()}`;
  await registerNamespace(namespace);
  const stage = await openStage(context, { topics: [reminders], namespace });
  // A comparison that a part of the server still starts in the old namespace is lost; the next one must not take a minute.
  await stage.relay({ settings: { scheduleCheck: 500, reconcile: '5s' } });
  const store = (n: number, after: `${number} seconds` | '1 hour') =>
    stage.commit((tx) => send(tx, reminders, { n }, { after }));
  const soon = [];
  for (let n = 1; n <= 6; n += 1) soon.push(await store(n, `${10 + 2 * n} seconds`));
  const late = await store(7, '1 hour');
  const lateRun = () => stage.temporal.workflow.getHandle(late.workflowId).describe();
  await until(async () => (await lateRun()).historyLength >= 5);
  const before = await lateRun();

  await deleteNamespace(namespace);
  await registerNamespace(namespace);

  // Parts of the server go on with the old namespace for a while. A worker has taken the new run when its timer is set.
  await until(async () => {
    const { runId, historyLength } = await lateRun();
    return runId !== before.runId && historyLength >= 5;
  }, 150_000);
  const [back] = await stage.database.query<{ at: Date }>('select clock_timestamp() as at');
  const afterwards = await stage.commit((tx) =>
    reschedule(tx, reminders, { id: late.id }, { after: '3 seconds' }),
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
    // A few hundred milliseconds on a quiet machine; whoever gets no workflow back is late for good.
    expect(lateMs).toBeLessThan(60_000);
  }
  expect(await stage.temporal.workflow.getHandle(late.workflowId).result()).toMatchObject({
    state: 'published',
  });
});
