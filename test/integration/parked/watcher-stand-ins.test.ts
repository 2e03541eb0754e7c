import { expect, test } from 'vitest';
import { setTrap } from '../../../src/core/crash-point.ts';
import {
  ParkedWatcher,
  type ParkedWatcherInput,
  type ParkedWatchFailure,
} from '../../../src/inbox/parked/parked-watcher.ts';
import type { ParkedKeyStart } from '../../../src/inbox/ports.ts';
import { countParkedKeys } from '../../../src/store/inbox/parked-keys.ts';
import { type KeyRows, openKeyRows } from '../../support/fixtures/key-rows.ts';
import { noDeadTries } from '../../support/fixtures/parked-stage.ts';
import { stopClock } from '../../support/fixtures/stop-clock.ts';
import { until } from '../../support/fixtures/until.ts';

const within = { timeout: 15_000 };

interface TestEnd {
  readonly onTestFinished: (work: () => Promise<void>) => void;
}

/** A watcher that notes what it starts, and what it offers to its stand-ins. */
function watch(
  { onTestFinished }: TestEnd,
  { database }: KeyRows,
  {
    start,
    hosting = true,
    ...given
  }: Partial<ParkedWatcherInput> & {
    readonly start?: (key?: ParkedKeyStart) => Promise<void>;
    readonly hosting?: boolean;
  } = {},
) {
  const starts: ParkedKeyStart[] = [];
  const started: string[] = [];
  const offered: string[] = [];
  const failures: ParkedWatchFailure[] = [];
  let looks = 0;
  let answers = 0;
  let checks = 0;
  const watcher = new ParkedWatcher({
    group: 'shop',
    withSql: (work) => work(database),
    endDeadTries: async () => {
      looks += 1;
      return noDeadTries;
    },
    workflows: {
      async start(key) {
        started.push(key.keyId);
        await start?.(key);
        starts.push(key);
      },
      async check() {
        checks += 1;
        await start?.();
      },
      hosting: () => hosting,
    },
    standIns: { room: 2, offer: (keyIds) => offered.push(...keyIds) },
    bulks: { host: async () => undefined, start: async () => undefined },
    failed: (failure) => failures.push(failure),
    away: () => false,
    answered: () => (answers += 1),
    ...given,
  });
  onTestFinished(() => watcher.stop());
  watcher.start();
  return {
    watcher,
    /** What was started; `started` has what is under way, too. */
    starts,
    started,
    offered,
    failures,
    looks: () => looks,
    answers: () => answers,
    checks: () => checks,
  };
}

/** Moves the stopped clock of the outbox forward. */
async function pass({ database }: KeyRows, ms: number): Promise<void> {
  await database.query(
    `update outbox.parked_key set next_at = next_at - $1 * interval '1 ms', told_at = told_at - $1 * interval '1 ms'`,
    [ms],
  );
}

test('while Temporal answers, a due key waits briefly for its workflow; then stand-ins drain as many keys as there are slots, and ask for their workflows', async (context) => {
  const keys = await openKeyRows(context);
  await stopClock(keys.database);
  const due = await keys.park(3, -5_000, 200);
  const { offered, looks, started } = watch(context, keys);
  await until(() => looks() >= 3);
  expect(offered).toEqual([]);

  await pass(keys, 200);
  await until(() => offered.length >= 2);
  const [first, second] = offered;
  expect(due).toEqual(expect.arrayContaining([first, second]));
  expect(new Set(offered.slice(0, 2)).size).toBe(2);
  await until(() => [first, second].every((id) => started.includes(id ?? '')));
});

test('while no worker of the process runs, a stand-in drains a due key at once', async (context) => {
  const keys = await openKeyRows(context);
  await stopClock(keys.database);
  const due = await keys.park(3, -1, 0);
  await keys.park(2, 60_000, 0);
  const { offered } = watch(context, keys, { hosting: false });
  await expect.poll(() => [...new Set(offered)].toSorted(), within).toEqual(due.toSorted());
});

test('a start that does not return delays neither finding nor draining other keys', {
  tags: ['parked-tried-without-temporal'],
}, async (context) => {
  const keys = await openKeyRows(context);
  const first = await keys.park(1, 0);
  let answer = (): void => undefined;
  const answered = new Promise<void>((resolve) => (answer = resolve));
  context.onTestFinished(async () => answer());
  const { offered, started, watcher } = watch(context, keys, { start: () => answered });
  await until(() => first.every((id) => offered.includes(id)));
  const second = await keys.park(1, 0);
  watcher.nudge();
  await until(() => second.every((id) => offered.includes(id)));

  expect(started).toEqual(first);
  expect(await keys.untold()).toHaveLength(2);
});

test('after an outage Temporal is asked until it answers, also with nothing to start', async (context) => {
  const keys = await openKeyRows(context);
  await keys.park(1, 60_000);
  let away = true;
  const { answers, checks, failures } = watch(context, keys, {
    start: () => (away ? Promise.reject(new Error('away')) : Promise.resolve()),
  });
  await until(() => failures.length === 1);
  await keys.database.query('delete from outbox.parked_key');
  await expect.poll(() => failures.length, within).toBe(2);
  expect([checks(), answers()]).toEqual([1, 0]);
  away = false;
  await expect.poll(answers, within).toBe(1);
  expect(checks()).toBe(2);
});

test('while Temporal counts as unreachable without a failed start, it is asked until that ends', async (context) => {
  const keys = await openKeyRows(context);
  let away = true;
  const { answers, checks, looks } = watch(context, keys, { away: () => away });
  await expect.poll(() => Math.min(checks(), answers()), within).toBeGreaterThan(1);
  away = false;
  const before = [checks(), looks()] as const;
  await until(() => looks() >= before[1] + 3);
  expect(checks()).toBeLessThanOrEqual(before[0] + 1);
});

test('every parked key of the group is started once, with the time of its next try, and then marked as started', async (context) => {
  const keys = await openKeyRows(context);
  const soon = await keys.park(3, 250_000);
  const late = await keys.park(2, -1_000);
  await keys.park(1, 0, null, 'another group');
  const untoldAtStart: number[] = [];
  const { starts, watcher } = watch(context, keys, {
    start: async () => void untoldAtStart.push((await keys.untold()).length),
  });

  await until(async () => (await keys.untold()).length === 0);
  watcher.nudge();
  await watcher.stop();

  expect(untoldAtStart).toEqual([5, 5, 5, 5, 5]);
  expect(starts.map(({ keyId }) => keyId).toSorted()).toEqual([...soon, ...late].toSorted());
  for (const { keyId, dueInMs, replace } of starts) {
    expect(replace).toBe('never');
    if (late.includes(keyId)) expect(dueInMs).toBe(0);
    else expect(dueInMs).toSatisfy((ms: number) => ms > 200_000 && ms <= 250_000);
  }
});

test('a blocked key is not started', async (context) => {
  const keys = await openKeyRows(context);
  const [blocked] = await keys.park(1, 0);
  await keys.park(1, 0);
  await keys.database.query(`update outbox.parked_key set next_at = 'infinity' where id = $1`, [blocked]);
  const { starts } = watch(context, keys);

  await until(async () => (await keys.untold()).length === 0);
  expect(starts.map(({ keyId }) => keyId)).not.toContain(blocked);
  expect(await countParkedKeys(keys.database, 'shop')).toEqual({ parked: 2, blocked: 1 });
  expect(await countParkedKeys(keys.database, 'nobody')).toEqual({ parked: 0, blocked: 0 });
});

test('a key that another consumer has started is also started once here, so that this consumer hosts it', async (context) => {
  const keys = await openKeyRows(context);
  const [id] = await keys.park(1, 3_600_000, 1_000);
  await keys.park(1, 3_700_000, 1_000);
  const { starts, watcher } = watch(context, keys);
  await until(() => starts.length === 1);
  watcher.nudge();
  await keys.park(1, 0);

  await until(() => starts.length === 2);
  expect(starts[0]).toMatchObject({ keyId: id, replace: 'never' });
});

test('a crash between the starts and their marks repeats the starts and nothing else', async (context) => {
  const keys = await openKeyRows(context);
  await keys.park(2, 60_000);
  const crashed = new Error('crashed');
  let crashes = 0;
  const remove = setTrap('inbox:key-started', () => {
    crashes += 1;
    if (crashes === 1) throw crashed;
  });
  context.onTestFinished(async () => {
    remove();
  });
  const { starts, failures } = watch(context, keys);

  await until(async () => (await keys.untold()).length === 0);
  expect(failures).toMatchObject([{ what: 'look', error: crashed }]);
  expect(starts).toHaveLength(4);
  expect(new Set(starts.map(({ keyId }) => keyId)).size).toBe(2);
});
