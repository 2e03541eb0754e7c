// @module-tag apart
import { expect, type TestContext, test } from 'vitest';
import { startTemporal } from '../../../dev/servers/index.ts';
import { operations } from '../../../src/app/operations/operations.ts';
import { schedule } from '../../../src/outbox/schedule.ts';
import { createSchedules } from '../../../src/relay/schedules.ts';
import { createRepeater, messageScheduleId } from '../../../src/temporal/relay/repeater.ts';
import { numbered, openStage, type Stage } from '../../support/fixtures/stage.ts';
import { until } from '../../support/fixtures/until.ts';

const ticks = numbered('ticks');

const put = (stage: Stage, name: string, every: '1s' | '1h') =>
  stage.commit((tx) => schedule(tx, name, ticks, { n: 1 }, { every }));

/** The times for which the schedule has written messages, in seconds. */
async function timesOf(stage: Stage, name: string): Promise<readonly number[]> {
  const rows = await stage.database.query<{ at: string }>(
    `select headers ->> 'scheduled-at' as at from outbox.message_all where headers ->> 'schedule' = $1 order by 1`,
    [name],
  );
  return rows.map(({ at }) => Date.parse(at) / 1_000);
}

const allFollowed = async (stage: Stage): Promise<boolean> =>
  (await stage.database.query('select from outbox.schedule where followed_version is distinct from version'))
    .length === 0;

/** The second from which on the rule of a schedule holds. */
async function sinceOf(stage: Stage, name: string): Promise<number> {
  const [row] = await stage.database.query<{ since: Date }>(
    'select holds_since as since from outbox.schedule where name = $1',
    [name],
  );
  return Math.ceil((row?.since.getTime() ?? Number.NaN) / 1_000);
}

/** Each second from the first to the last. */
const each = (first: number, last: number): readonly number[] =>
  Array.from({ length: last - first + 1 }, (_, n) => first + n);

async function ownServer(context: TestContext) {
  const server = await startTemporal({ env: { ...process.env, TEMPORAL_ADDRESS: '' } });
  context.onTestFinished(() => server.stop());
  const { node } = server;
  if (node === undefined) throw new Error('This test kills the server, so it has to be one of its own.');
  const stage = await openStage(context, { topics: [ticks], temporalAddress: server.address });
  return { node, stage };
}

test('what is created, resumed and changed while Temporal is away has each time from then on, and none of its former rule or pause', {
  tags: ['repeating-messages'],
}, async (context) => {
  const { node, stage } = await ownServer(context);
  const { events } = await stage.relay();
  const at = operations({ database: { url: stage.url } });
  context.onTestFinished(() => at.close());
  for (const name of ['same', 'resumed', 'slower', 'paused']) await put(stage, name, '1s');
  await put(stage, 'faster', '1h');
  await at.schedules.pause('resumed', { actor: 'ada' });
  await until(() => allFollowed(stage));
  await until(async () => (await timesOf(stage, 'same')).length > 0);
  const resting = await timesOf(stage, 'resumed');

  await node.stop('SIGKILL');
  await until(() => events.some((event) => event.type === 'error' && event.during === 'schedules'), 60_000);
  await at.schedules.resume('resumed', { actor: 'ada' });
  await put(stage, 'created', '1s');
  await put(stage, 'slower', '1h');
  await put(stage, 'faster', '1s');
  await at.schedules.pause('paused', { actor: 'ada' });
  const changedAt = await sinceOf(stage, 'slower');
  const paused = await timesOf(stage, 'paused');
  await until(() => Date.now() / 1_000 > changedAt + 5);
  await node.start();
  await until(() => allFollowed(stage), 120_000);
  const backAt = Math.ceil(Date.now() / 1_000);

  for (const name of ['created', 'resumed', 'faster']) {
    const since = await sinceOf(stage, name);
    const before = name === 'resumed' ? resting : [];
    const after = async () => (await timesOf(stage, name)).filter((time) => time <= backAt);
    await expect.poll(after, { timeout: 60_000 }).toEqual([...before, ...each(since, backAt)]);
  }
  const [first = 0] = await timesOf(stage, 'same');
  const same = async () => (await timesOf(stage, 'same')).filter((time) => time <= backAt);
  await expect.poll(same, { timeout: 60_000 }).toEqual(each(first, backAt));
  const slower = await timesOf(stage, 'slower');
  expect(slower.filter((time) => time >= changedAt && time % 3_600 !== 0)).toEqual([]);
  expect(await timesOf(stage, 'paused')).toEqual(paused);
});

test('the times that pass while Temporal lacks a schedule, or has it paused, are repeated with its repair', {
  tags: ['repeating-messages'],
}, async (context) => {
  const stage = await openStage(context, { topics: [ticks] });
  await stage.relay({ timings: { scheduleCheckIntervalMs: 3_000 } });
  await put(stage, 'beat', '1s');
  await until(async () => (await timesOf(stage, 'beat')).length > 0);
  const handle = stage.temporal.schedule.getHandle(messageScheduleId(stage.installation, 'beat'));

  for (const spoil of [() => handle.pause(), () => handle.delete()]) {
    await until(() => allFollowed(stage));
    await spoil();
    const spoiledAt = Math.ceil(Date.now() / 1_000);
    await until(async () => (await timesOf(stage, 'beat')).some((time) => time > spoiledAt + 4), 60_000);
  }
  const last = Math.max(...(await timesOf(stage, 'beat')));
  const times = async () => (await timesOf(stage, 'beat')).filter((time) => time <= last);
  const [first = 0] = await times();
  await expect.poll(times, { timeout: 30_000 }).toEqual(each(first, last));
});

test('a schedule that is removed and put again while a relay drops the former one is in Temporal at once', {
  tags: ['repeating-messages'],
}, async (context) => {
  const stage = await openStage(context, { topics: [ticks] });
  const repeater = createRepeater(stage.temporal, stage.installation);
  const relayOf = (mine: typeof repeater) =>
    createSchedules({ database: stage.database, repeater: mine, report: () => undefined });
  context.onTestFinished(() => repeater.drop('beat'));
  const other = relayOf(repeater).keepFollowed(3_600_000);
  context.onTestFinished(() => other.stop());
  let drops = 0;
  const slow = relayOf({
    ...repeater,
    async drop(name) {
      // Between the answer about the removed row and the drop.
      await put(stage, 'beat', '1h');
      await until(() => allFollowed(stage));
      drops += 1;
      await repeater.drop(name);
    },
  });

  expect(await slow.write('beat', new Date())).toBe('unknown');

  expect(drops).toBe(1);
  const isThere = () =>
    repeater
      .nextTimes({
        name: 'beat',
        cron: null,
        everyMs: 3_600_000,
        timeZone: 'UTC',
        catchUpMs: 3_600_000,
        paused: false,
      })
      .then((next) => next !== undefined);
  await expect.poll(isThere, { timeout: 20_000 }).toBe(true);
});
