import { expect, test } from 'vitest';
import { ParkedWatcher, type ParkedWatcherInput } from '../../../src/inbox/parked/parked-watcher.ts';
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
    readonly start?: () => Promise<void>;
    readonly hosting?: boolean;
  } = {},
) {
  const started: string[] = [];
  const offered: string[] = [];
  const failures: unknown[] = [];
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
      async start({ keyId }) {
        started.push(keyId);
        await start?.();
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

test('until it may start workflows it drains what is due and starts nothing', async (context) => {
  const keys = await openKeyRows(context);
  const due = await keys.park(2, 0);
  let begin = (): void => undefined;
  const supervised = new Promise<void>((resolve) => (begin = resolve));
  const { looks, offered, started } = watch(context, keys, { supervised });
  await until(() => due.every((id) => offered.includes(id)) && looks() >= 2);
  expect(started).toEqual([]);

  begin();
  await until(async () => (await keys.untold()).length === 0);
  expect(started.toSorted()).toEqual(due.toSorted());
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
