import { randomUUID } from 'node:crypto';
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
import { noDeadTries, noStandIns } from '../../support/fixtures/parked-stage.ts';
import { until } from '../../support/fixtures/until.ts';

interface TestEnd {
  readonly onTestFinished: (work: () => Promise<void>) => void;
}

/** A watcher with workflows that note their starts. */
function watch(
  { onTestFinished }: TestEnd,
  { database }: KeyRows,
  given: Partial<ParkedWatcherInput> & { start?: (key: ParkedKeyStart) => Promise<void> } = {},
) {
  const starts: ParkedKeyStart[] = [];
  const failures: ParkedWatchFailure[] = [];
  const watcher = new ParkedWatcher({
    group: 'shop',
    withSql: (work) => work(database),
    endDeadTries: async () => noDeadTries,
    workflows: {
      async start(key) {
        await given.start?.(key);
        starts.push(key);
      },
      check: async () => undefined,
      hosting: () => true,
    },
    standIns: noStandIns,
    away: () => false,
    answered: () => undefined,
    bulks: { host: async () => undefined, start: async () => undefined },
    failed: (failure) => failures.push(failure),
    ...given,
  });
  onTestFinished(() => watcher.stop());
  watcher.start();
  return { watcher, starts, failures };
}

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

test('many keys are started concurrently, at most twenty at a time, without a pause between pages', async (context) => {
  const keys = await openKeyRows(context);
  await keys.park(350, 60_000);
  let under = 0;
  let most = 0;
  let answeredAt = performance.now();
  /** Before each question to the database: a page is asked for, then it is started and noted. */
  const pauses: number[] = [];
  const { starts } = watch(context, keys, {
    async start() {
      under += 1;
      most = Math.max(most, under);
      await new Promise((resolve) => setImmediate(resolve));
      under -= 1;
    },
    withSql: async (work) => {
      pauses.push(performance.now() - answeredAt);
      const answer = await work(keys.database);
      answeredAt = performance.now();
      return answer;
    },
  });

  await until(async () => (await keys.untold()).length === 0);
  const beforePages = [2, 4, 6].map((question) => pauses[question] ?? Number.NaN);
  // The shortest, because the machine may be busy: the pause after the last page would be a second each time.
  expect(Math.min(...beforePages)).toBeLessThan(900);
  expect(starts).toHaveLength(350);
  expect(most).toBe(20);
});

test('a nudge triggers a look at once', async (context) => {
  const keys = await openKeyRows(context);
  const looks: number[] = [];
  const { watcher, starts } = watch(context, keys, {
    withSql: (work) => {
      looks.push(performance.now());
      return work(keys.database);
    },
  });
  await until(() => looks.length > 0);
  const waits: number[] = [];
  for (let n = 0; n < 5; n += 1) {
    // Between two looks, which are a second apart.
    const sinceLook = (): number => performance.now() - (looks.at(-1) ?? 0);
    await until(() => sinceLook() > 100 && sinceLook() < 300);
    const before = looks.length;
    const nudgedAt = performance.now();
    watcher.nudge();
    await until(() => looks.length > before);
    waits.push((looks[before] ?? Number.NaN) - nudgedAt);
  }
  // The shortest, because the machine may be busy: without nudges each look comes 700 ms later or more.
  expect(Math.min(...waits)).toBeLessThan(500);

  const [id] = await keys.park(1, 60_000);
  watcher.nudge();
  await until(() => starts.length === 1);
  expect(starts).toMatchObject([{ keyId: id }]);
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

test('while Temporal is unreachable starts are repeated ever less often, a few at a time', async (context) => {
  const keys = await openKeyRows(context);
  await keys.park(100, 60_000);
  let away = true;
  let tries = 0;
  const { starts, failures } = watch(context, keys, {
    start: () => {
      tries += 1;
      return away ? Promise.reject(new Error('away')) : Promise.resolve();
    },
  });

  await until(() => failures.length >= 2);
  expect(failures.slice(0, 2)).toMatchObject([
    { what: 'start', error: { message: 'away' }, retryInMs: 1_000 },
    { what: 'start', error: { message: 'away' }, retryInMs: 2_000 },
  ]);
  // The next look may have begun.
  expect(tries).toBeLessThanOrEqual(20 * (failures.length + 1));
  expect(await keys.untold()).toHaveLength(100);
  away = false;
  await until(async () => (await keys.untold()).length === 0);
  expect(starts).toHaveLength(100);
});

test('a key whose start fails does not keep others from being started', async (context) => {
  const keys = await openKeyRows(context);
  const [bad] = await keys.park(1, 0);
  await keys.park(30, 60_000);
  const { starts, failures } = watch(context, keys, {
    start: ({ keyId }) => (keyId === bad ? Promise.reject(new Error('refused')) : Promise.resolve()),
  });

  await until(async () => (await keys.untold()).length === 1);
  expect(await keys.untold()).toEqual([bad]);
  expect(starts).toHaveLength(30);
  await until(() => failures.length > 0);
});

test('while the database is unreachable looks are repeated, also after a nudge not before their time', async (context) => {
  const keys = await openKeyRows(context);
  await keys.park(1, 60_000);
  const looks: number[] = [];
  const { watcher, starts, failures } = watch(context, keys, {
    withSql: (work) => {
      looks.push(performance.now());
      return looks.length === 1 ? Promise.reject(new Error('no database')) : work(keys.database);
    },
  });
  await until(() => failures.length === 1);
  watcher.nudge();
  expect(failures).toMatchObject([{ what: 'look', error: { message: 'no database' }, retryInMs: 1_000 }]);

  await until(() => starts.length === 1);
  const [failed = Number.NaN, next = Number.NaN] = looks;
  expect(next - failed).toBeGreaterThan(990);
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

test('a stop waits for the starts in progress, marks them, and begins no other', async (context) => {
  const keys = await openKeyRows(context);
  await keys.park(50, 60_000);
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  let begun = 0;
  const { watcher } = watch(context, keys, {
    start: () => {
      begun += 1;
      return opened;
    },
  });
  context.onTestFinished(() => open());
  await until(() => begun === 20);

  const stopping = watcher.stop();
  open();
  await stopping;

  expect(begun).toBe(20);
  expect(await keys.untold()).toHaveLength(30);
  await keys.park(1, 0);
  watcher.nudge();
  watcher.start();
  expect(begun).toBe(20);
});

test('a consumer without parked keys starts nothing', async (context) => {
  const keys = await openKeyRows(context);
  await keys.park(1, 0, null, `other ${randomUUID()}`);
  let looks = 0;
  const { starts } = watch(context, keys, {
    withSql: (work) => {
      looks += 1;
      return work(keys.database);
    },
  });

  await until(() => looks >= 2);
  expect(starts).toEqual([]);
});
