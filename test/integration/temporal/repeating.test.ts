import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';
import { expect, test } from 'vitest';
import { operations } from '../../../src/app/operations/operations.ts';
import { readCron } from '../../../src/core/cron.ts';
import { schedule, unschedule } from '../../../src/outbox/schedule.ts';
import { createRepeater, messageScheduleId } from '../../../src/temporal/relay/repeater.ts';
import { numbered, openStage, type Stage } from '../../support/fixtures/stage.ts';
import { until } from '../../support/fixtures/until.ts';

const ticks = numbered('ticks');

/** Nothing was missed. */
const nothing = { missedFrom: new Date('2999-01-01'), readAt: new Date(0) };

const scheduleOf = (stage: Stage, name: string) =>
  stage.temporal.schedule.getHandle(messageScheduleId(stage.installation, name));

const isFollowed = (stage: Stage, name: string) =>
  scheduleOf(stage, name)
    .describe()
    .then(() => true);

/** The times for which the schedule has written messages, in milliseconds. */
async function timesOf(stage: Stage, name: string): Promise<readonly number[]> {
  const rows = await stage.database.query<{ at: string }>(
    `select headers ->> 'scheduled-at' as at from outbox.message_all where headers ->> 'schedule' = $1 order by 1`,
    [name],
  );
  return rows.map(({ at }) => Date.parse(at));
}

test('what is scheduled in a transaction is sent at each time, until it is removed', async (context) => {
  const stage = await openStage(context, { topics: [ticks] });
  await stage.relay();
  expect(await stage.commit((tx) => schedule(tx, 'beat', ticks, { n: 1 }, { every: '1s', key: 'k' }))).toBe(
    'scheduled',
  );

  await stage.untilArrived(3);
  const sent = await stage.journal();
  expect(new Set(sent.map(({ key }) => key))).toEqual(new Set(['k']));

  expect(await stage.commit((tx) => unschedule(tx, 'beat'))).toBe('removed');
  const times = await timesOf(stage, 'beat');
  expect(times.map((at) => at % 1_000)).toEqual(times.map(() => 0));
  expect(times).toEqual(times.map((_at, n) => (times[0] ?? 0) + n * 1_000));
  await until(async () => (await stage.database.query('select from outbox.schedule')).length === 0);
  await expect(isFollowed(stage, 'beat')).rejects.toThrow('not found');
  // What was written may arrive later; one more may have been written meanwhile.
  expect(await stage.arrived()).toBeLessThanOrEqual(times.length + 1);
});

test('each time is one message although every activity is tried twice', {
  tags: ['repeating-messages'],
}, async (context) => {
  const stage = await openStage(context, { topics: [ticks] });
  const tried = new Map<unknown, number>();
  const twice: ActivityInboundCallsInterceptor = {
    async execute(input, next) {
      const [name, at] = input.args;
      const answer = await next(input);
      if (name !== 'beat') return answer;
      tried.set(at, (tried.get(at) ?? 0) + 1);
      if (tried.get(at) === 1) throw new Error('The answer got lost.');
      return answer;
    },
  };
  await stage.relay({ workers: { interceptors: { activity: [() => ({ inbound: twice })] } } });
  await stage.commit((tx) => schedule(tx, 'beat', ticks, { n: 1 }, { every: '1s' }));

  await until(() => [...tried.values()].filter((count) => count === 2).length >= 3, 60_000);
  // On a busy machine a beat may come so late that it writes nothing: the next one catches up.
  await until(async () => (await timesOf(stage, 'beat')).length >= 3, 60_000);
  await stage.commit((tx) => unschedule(tx, 'beat'));

  const times = await timesOf(stage, 'beat');
  expect(new Set(times).size).toBe(times.length);
});

test('a paused schedule writes nothing, a resumed one goes on, and Temporal follows both', {
  tags: ['repeating-messages'],
}, async (context) => {
  const stage = await openStage(context, { topics: [ticks] });
  await stage.relay();
  const at = operations({ database: { url: stage.url } });
  context.onTestFinished(() => at.close());
  await stage.commit((tx) => schedule(tx, 'beat', ticks, { n: 1 }, { every: '1s' }));
  await stage.untilArrived(1);

  await at.schedules.pause('beat', { actor: 'ada' });
  const paused = await timesOf(stage, 'beat');
  await until(async () => (await scheduleOf(stage, 'beat').describe()).state.paused);
  const { messageId } = await at.schedules.run('beat', { actor: 'ada' });
  await until(async () => (await stage.journal()).some(({ id }) => id === messageId));
  expect(await timesOf(stage, 'beat')).toHaveLength(paused.length + 1);

  await at.schedules.resume('beat', { actor: 'ada' });
  await stage.untilArrived(2);
  await until(async () => (await at.schedules.list()).every(({ followed }) => followed));
  expect((await scheduleOf(stage, 'beat').describe()).state.paused).toBe(false);
});

test('what differs in Temporal is repaired: a deleted schedule, another time, a pause, and one without a row', {
  tags: ['repeating-messages'],
}, async (context) => {
  const stage = await openStage(context, { topics: [ticks] });
  await stage.relay({ timings: { scheduleCheckIntervalMs: 200 } });
  const everyMs = async () => (await scheduleOf(stage, 'beat').describe()).spec.intervals?.[0]?.every;
  await stage.commit((tx) => schedule(tx, 'beat', ticks, { n: 1 }, { every: '1h' }));
  await until(async () => (await everyMs()) === 3_600_000);

  await scheduleOf(stage, 'beat').delete();
  await until(async () => (await everyMs()) === 3_600_000);
  await scheduleOf(stage, 'beat').update((before) => ({ ...before, spec: { intervals: [{ every: '2h' }] } }));
  await until(async () => (await everyMs()) === 3_600_000);
  await scheduleOf(stage, 'beat').pause();
  const paused = async () => (await scheduleOf(stage, 'beat').describe()).state.paused;
  await expect.poll(paused, { timeout: 20_000 }).toBe(false);

  await stage.commit((tx) => schedule(tx, 'beat', ticks, { n: 1 }, { every: '1s' }));
  await stage.untilArrived(1);
  await stage.database.query('delete from outbox.schedule');
  await expect.poll(() => isFollowed(stage, 'beat').catch(() => false), { timeout: 30_000 }).toBe(false);
});

test('a schedule by its distance that is as wanted in Temporal is not changed', async (context) => {
  const stage = await openStage(context, { topics: [ticks] });
  const repeater = createRepeater(stage.temporal, stage.installation);
  context.onTestFinished(() => repeater.drop('calm'));
  const wanted = {
    name: 'calm',
    cron: null,
    everyMs: 3_600_000,
    timeZone: 'UTC',
    catchUpMs: 60_000,
    paused: false,
  };
  for (let n = 0; n < 2; n += 1) await repeater.follow(wanted, nothing);
  expect((await scheduleOf(stage, 'calm').describe()).info.lastUpdatedAt).toBeUndefined();

  await repeater.follow({ ...wanted, paused: true }, nothing);
  expect((await scheduleOf(stage, 'calm').describe()).info.lastUpdatedAt).toBeInstanceOf(Date);
});

test('times that pass while no relay runs are caught up, each with one message', {
  tags: ['repeating-messages'],
}, async (context) => {
  const stage = await openStage(context, { topics: [ticks] });
  const first = await stage.relay();
  await stage.commit((tx) => schedule(tx, 'beat', ticks, { n: 1 }, { every: '1s' }));
  await stage.untilArrived(1);
  await first.stop();
  const before = await timesOf(stage, 'beat');
  const taken = async () => (await scheduleOf(stage, 'beat').describe()).info.numActionsTaken;
  const takenBefore = await taken();
  await until(async () => (await taken()) >= takenBefore + 3);
  expect(await timesOf(stage, 'beat')).toEqual(before);

  await stage.relay();
  // In any order: those of the last seconds may still be under way.
  const missed = Array.from({ length: before.length + 5 }, (_, n) => (before[0] ?? 0) + n * 1_000);
  await until(async () => {
    const times = new Set(await timesOf(stage, 'beat'));
    return missed.every((at) => times.has(at));
  });
  const times = await timesOf(stage, 'beat');
  expect(new Set(times).size).toBe(times.length);
});

test('in Berlin a local time that a clock change skips does not occur, and one that it repeats occurs once', {
  tags: ['repeating-messages'],
}, async (context) => {
  const stage = await openStage(context, { topics: [ticks] });
  const repeater = createRepeater(stage.temporal, stage.installation);
  context.onTestFinished(() => repeater.drop('summer'));
  const rest = {
    name: 'summer',
    everyMs: null,
    timeZone: 'Europe/Berlin',
    catchUpMs: 3_600_000,
    paused: false,
  };
  /** The times of the line in its first year, as the clock shows them. */
  const shown = async (cron: string): Promise<readonly string[]> => {
    const next = await repeater.follow({ ...rest, cron }, nothing);
    return next
      .filter((at) => at.getUTCFullYear() === next[0]?.getUTCFullYear())
      .map((at) => berlin.format(at));
  };
  const at = (time: string, month: number, without?: number) =>
    [25, 26, 27, 28, 29, 30, 31].filter((day) => day !== without).map((day) => `${month}/${day}, ${time}`);
  const [next] = await repeater.follow({ ...rest, cron: '30 2 25-31 3 *' }, nothing);
  const year = next?.getUTCFullYear() ?? 0;

  expect(await shown('30 2 25-31 3 *')).toEqual(at('02:30', 3, lastSunday(year, 3)));
  expect(await shown('30 3 25-31 3 *')).toEqual(at('03:30', 3));
  expect(await shown('30 2 25-31 10 *')).toEqual(at('02:30', 10));
  // Ten hours of the day that has 25: none is there twice, so one of them is left out.
  const day = lastSunday(
    (await repeater.follow({ ...rest, cron: '30 2 25-31 10 *' }, nothing))[0]?.getUTCFullYear() ?? 0,
    10,
  );
  expect(await shown(`30 * ${day} 10 *`)).toEqual(
    Array.from({ length: 10 }, (_hour, hour) => `10/${day}, 0${hour}:30`),
  );
});

const berlin = new Intl.DateTimeFormat('en', {
  timeZone: 'Europe/Berlin',
  month: 'numeric',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
});

/** The day on which the clocks of Europe change. */
function lastSunday(year: number, month: number): number {
  return 31 - new Date(Date.UTC(year, month - 1, 31)).getUTCDay();
}

test('the server takes every kind of cron line that is not refused, and what is as wanted is not changed', async (context) => {
  const stage = await openStage(context, { topics: [ticks] });
  const repeater = createRepeater(stage.temporal, stage.installation);
  context.onTestFinished(() => repeater.drop('lines'));
  const wanted = { name: 'lines', everyMs: null, timeZone: 'UTC', catchUpMs: 10_000, paused: false };
  const lines = [
    '* * * * *',
    '*/5 0-23/2 1,15,31 * *',
    '05 6 * JAN-jun/2,DEC *',
    '0 0 * * SUN,1-5',
    '59 23 * 12 6',
    '0 0 * * 5-7',
  ];
  for (const cron of lines) {
    expect(readCron(cron)).toMatchObject({ line: cron });
    expect((await repeater.follow({ ...wanted, cron }, nothing)).length).toBeGreaterThan(0);
    const { info } = await scheduleOf(stage, 'lines').describe();
    await repeater.follow({ ...wanted, cron }, nothing);
    expect((await scheduleOf(stage, 'lines').describe()).info.lastUpdatedAt).toEqual(info.lastUpdatedAt);
  }
});
