// @module-tag apart
import { expect, type TestContext, test } from 'vitest';
import { startTemporal } from '../../../dev/servers/index.ts';
import { operations } from '../../../src/app/operations/operations.ts';
import { adopt } from '../../../src/operations/delivery/adopt.ts';
import { schedule, unschedule } from '../../../src/outbox/schedule.ts';
import { messageScheduleId } from '../../../src/temporal/relay/repeater.ts';
import { createEmptyDatabase } from '../../support/fixtures/database.ts';
import { dumpOutbox } from '../../support/fixtures/dump.ts';
import { numbered, openStage, type Stage } from '../../support/fixtures/stage.ts';
import { until } from '../../support/fixtures/until.ts';

const ticks = numbered('ticks');

const put = (stage: Stage, name: string, every: '1s' | '2s' | '1h') =>
  stage.commit((tx) => schedule(tx, name, ticks, { n: 1 }, { every }));

const inTemporal = (stage: Stage, name: string) =>
  stage.temporal.schedule.getHandle(messageScheduleId(stage.installation, name)).describe();

const everyMs = async (stage: Stage, name: string) =>
  (await inTemporal(stage, name)).spec.intervals?.[0]?.every;

const isThere = (stage: Stage, name: string): Promise<boolean> =>
  inTemporal(stage, name).then(
    () => true,
    () => false,
  );

/** The times for which the schedule has written messages, in milliseconds. */
async function timesOf(stage: Stage, name: string): Promise<readonly number[]> {
  const rows = await stage.database.query<{ at: string }>(
    `select headers ->> 'scheduled-at' as at from outbox.message_all where headers ->> 'schedule' = $1 order by 1`,
    [name],
  );
  return rows.map(({ at }) => Date.parse(at));
}

const allFollowed = async (stage: Stage): Promise<boolean> =>
  (await stage.database.query('select from outbox.schedule where followed_version is distinct from version'))
    .length === 0;

test('what is scheduled, changed, paused and removed while Temporal is away is followed once it is back, and missed times are caught up', {
  tags: ['repeating-messages'],
}, async (context) => {
  const server = await startTemporal({ env: { ...process.env, TEMPORAL_ADDRESS: '' } });
  context.onTestFinished(() => server.stop());
  const { node } = server;
  if (node === undefined) throw new Error('This test kills the server, so it has to be one of its own.');
  const stage = await openStage(context, { topics: [ticks], temporalAddress: server.address });
  const { events } = await stage.relay();
  const at = operations({ database: { url: stage.url } });
  context.onTestFinished(() => at.close());
  for (const name of ['same', 'changed', 'paused', 'removed']) await put(stage, name, '1s');
  await until(() => allFollowed(stage));
  await until(async () => (await timesOf(stage, 'same')).length > 0);

  await node.stop('SIGKILL');
  const awayAt = Date.now();
  await put(stage, 'new', '1s');
  await put(stage, 'changed', '1h');
  await at.schedules.pause('paused', { actor: 'ada' });
  await stage.commit((tx) => unschedule(tx, 'removed'));
  await until(() => events.some((event) => event.type === 'error' && event.during === 'schedules'), 60_000);
  const before = {
    paused: await timesOf(stage, 'paused'),
    removed: await timesOf(stage, 'removed'),
  };
  await until(() => Date.now() - awayAt > 4_000);
  expect(await timesOf(stage, 'new')).toEqual([]);
  expect((await at.schedules.list()).find(({ name }) => name === 'new')).toMatchObject({ followed: false });
  await node.start();

  await until(() => allFollowed(stage), 120_000);
  expect(await everyMs(stage, 'changed')).toBe(3_600_000);
  const followedAt = Date.now();
  expect((await inTemporal(stage, 'paused')).state.paused).toBe(true);
  await expect(inTemporal(stage, 'removed')).rejects.toThrow('not found');
  await until(async () => (await timesOf(stage, 'new')).length > 1, 60_000);
  const gaps = async (): Promise<readonly number[]> => {
    const times = await timesOf(stage, 'same');
    return times.slice(1).map((time, n) => time - (times[n] ?? 0));
  };
  const backAt = Date.now();
  await until(async () => (await timesOf(stage, 'same')).some((time) => time > backAt + 2_000), 60_000);
  await expect.poll(async () => new Set(await gaps()), { timeout: 60_000 }).toEqual(new Set([1_000]));
  expect(await timesOf(stage, 'paused')).toEqual(before.paused);
  expect(await timesOf(stage, 'removed')).toEqual(before.removed);
  // Until Temporal has followed, the times are the former ones.
  expect((await timesOf(stage, 'changed')).filter((time) => time > followedAt)).toEqual([]);
});

/** The stage of a restored dump, which is adopted before the original goes on. */
async function restored(context: TestContext, original: Stage, newInstallation: boolean): Promise<Stage> {
  const made = await createEmptyDatabase();
  await (await dumpOutbox(original.url)).restore(made.url);
  await adopt(made.database, { actor: 'ada', newInstallation });
  return openStage(context, { topics: [ticks], made });
}

/** The ids of the messages of a schedule, by their time. */
async function idsOf(
  stages: readonly Stage[],
  name: string,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const ids = new Map<string, string[]>();
  for (const stage of stages) {
    const rows = await stage.database.query<{ at: string; id: string }>(
      `select headers ->> 'scheduled-at' as at, id::text from outbox.message_all where headers ->> 'schedule' = $1`,
      [name],
    );
    for (const { at, id } of rows) ids.set(at, [...(ids.get(at) ?? []), id]);
  }
  return ids;
}

test('a restored dump goes on with its schedules: a time has one message, a younger schedule ends, and one that was removed since is back', {
  tags: ['repeating-messages'],
}, async (context) => {
  const original = await openStage(context, { topics: [ticks] });
  const relay = await original.relay();
  await put(original, 'kept', '1s');
  await put(original, 'removed-since', '1h');
  await until(() => allFollowed(original));
  await until(async () => (await timesOf(original, 'kept')).length > 1);
  const copy = await restored(context, original, false);
  expect(copy.installation).toBe(original.installation);
  expect(await allFollowed(copy)).toBe(false);
  await original.commit((tx) => unschedule(tx, 'removed-since'));
  await put(original, 'younger', '1s');
  await until(async () => (await timesOf(original, 'younger')).length > 0);
  await expect.poll(() => isThere(original, 'removed-since'), { timeout: 30_000 }).toBe(false);
  await relay.stop();
  const last = Math.max(...(await timesOf(original, 'kept')));

  await copy.relay();

  await until(() => allFollowed(copy), 60_000);
  expect(await everyMs(copy, 'removed-since')).toBe(3_600_000);
  await expect.poll(() => isThere(copy, 'younger'), { timeout: 60_000 }).toBe(false);
  await until(async () => (await timesOf(copy, 'kept')).some((time) => time > last + 3_000), 60_000);
  expect(await timesOf(copy, 'younger')).toEqual([]);
  const both = await idsOf([original, copy], 'kept');
  expect([...both.values()].filter((ids) => new Set(ids).size > 1)).toEqual([]);
  const here = await timesOf(copy, 'kept');
  expect(new Set(here).size).toBe(here.length);
});

test('a copy that becomes an installation of its own has schedules of its own, and ends only these', {
  tags: ['repeating-messages'],
}, async (context) => {
  const original = await openStage(context, { topics: [ticks] });
  await original.relay();
  await put(original, 'kept', '1s');
  await until(async () => (await timesOf(original, 'kept')).length > 1);
  const copy = await restored(context, original, true);
  expect(copy.installation).not.toBe(original.installation);
  const dumped = await timesOf(copy, 'kept');

  await copy.relay();

  await until(async () => (await timesOf(copy, 'kept')).length > dumped.length + 2, 60_000);
  const here = await timesOf(copy, 'kept');
  expect(new Set(here).size).toBe(here.length);
  await copy.commit((tx) => unschedule(tx, 'kept'));
  await expect.poll(() => isThere(copy, 'kept'), { timeout: 30_000 }).toBe(false);
  const { length } = await timesOf(original, 'kept');
  await until(async () => (await timesOf(original, 'kept')).length > length + 1);
  expect(await isThere(original, 'kept')).toBe(true);
});
