import { expect, test } from 'vitest';
import { scheduleIds } from '../../../src/temporal/relay/schedules.ts';
import { numbered, openStage, type Stage } from '../../support/fixtures/stage.ts';
import { until } from '../../support/fixtures/until.ts';

const reminders = numbered('reminders');

const scheduleOf = (stage: Stage, name: 'reconcile' | 'archive') =>
  stage.temporal.schedule.getHandle(scheduleIds(stage.installation)[name]);

const exists = (stage: Stage, name: 'reconcile' | 'archive') =>
  scheduleOf(stage, name)
    .describe()
    .then(() => true);

const everyMs = async (stage: Stage, name: 'reconcile' | 'archive') =>
  (await scheduleOf(stage, name).describe()).spec.intervals?.[0]?.every;

test('several relays create each schedule once, without overlap, and again after it was deleted; a changed interval leaves it paused', async (context) => {
  const stage = await openStage(context, { topics: [reminders] });
  const timings = { scheduleCheckIntervalMs: 100 };
  const relays = await Promise.all([stage.relay({ timings }), stage.relay({ timings })]);
  await until(() => exists(stage, 'reconcile'));
  await until(() => exists(stage, 'archive'));

  expect(await everyMs(stage, 'reconcile')).toBe(60_000);
  expect(await everyMs(stage, 'archive')).toBe(300_000);
  const { policies, action } = await scheduleOf(stage, 'archive').describe();
  expect(policies.overlap).toBe('SKIP');
  expect(action.taskQueue).toBe(`${stage.installation}/maintenance`);

  for (const name of ['reconcile', 'archive'] as const) {
    const { info } = await scheduleOf(stage, name).describe();
    await scheduleOf(stage, name).delete();
    await until(async () => {
      const again = await scheduleOf(stage, name).describe();
      return again.info.createdAt.getTime() > info.createdAt.getTime();
    });
  }
  const failures = relays.flatMap(({ events }) => events.filter(({ type }) => type === 'error'));
  expect(failures).toEqual([]);

  await scheduleOf(stage, 'archive').pause('a test');
  await Promise.all(relays.map((relay) => relay.stop()));
  await stage.relay({ timings: { archiveIntervalMs: 7_000 } });
  await until(async () => (await everyMs(stage, 'archive')) === 7_000);
  const { state } = await scheduleOf(stage, 'archive').describe();
  expect(state).toMatchObject({ paused: true, note: 'a test' });
  expect(await everyMs(stage, 'reconcile')).toBe(60_000);
});
