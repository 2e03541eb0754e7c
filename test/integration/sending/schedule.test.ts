import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { operations } from '../../../src/app/operations/operations.ts';
import type { Duration } from '../../../src/core/duration.ts';
import { cancel, schedule, send, topic, unschedule } from '../../../src/index.ts';
import type { Transaction } from '../../../src/store/database/transaction.ts';
import { writeDue } from '../../../src/store/schedule/write-due.ts';
import { createTestDatabase, type TestDatabase } from '../../support/fixtures/database.ts';
import { holdForADay, secondsAgo } from '../../support/fixtures/schedule-times.ts';
import { byPg, type RunTransaction } from '../../support/fixtures/transaction-ways.ts';

let made: TestDatabase;
beforeAll(async () => {
  made = await createTestDatabase();
});
afterAll(() => made.drop());
beforeEach(async () => {
  await made.database.query('truncate outbox.schedule, outbox.message, outbox.audit cascade');
});

const reports = topic('reports', z.object({ n: z.number() }));
const secondly = { every: '1s' } as const;

const commit: RunTransaction = (work) => byPg(made.database)(work);

/** Commits a change of a schedule whose rule has held for a day. */
async function held<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result> {
  const result = await commit(work);
  await holdForADay(made.database);
  return result;
}

const rows = () =>
  made.database.query<{ name: string; version: string; removed: boolean; payload: string }>(
    'select name, version, removed, payload from outbox.schedule order by name',
  );

const written = () =>
  made.database.query<{ id: string; payload: string }>(
    'select id, payload, key, headers, state from outbox.message order by position',
  );

test('a transaction that rolls back schedules and removes nothing', {
  tags: ['repeating-messages'],
}, async () => {
  const failing = async (work: (tx: Transaction) => Promise<unknown>): Promise<void> => {
    await expect(
      commit(async (tx) => {
        await work(tx);
        throw new Error('rolled back');
      }),
    ).rejects.toThrow('rolled back');
  };

  await failing((tx) => schedule(tx, 'a', reports, { n: 1 }, secondly));
  expect(await rows()).toEqual([]);

  await held((tx) => schedule(tx, 'a', reports, { n: 1 }, secondly));
  await failing((tx) => unschedule(tx, 'a'));
  expect(await rows()).toMatchObject([{ name: 'a', removed: false }]);
  expect(await writeDue(made.database, 'a', secondsAgo(1))).toBe('written');
});

test('the same schedule again changes nothing, another one replaces it, and a removed one comes back', async () => {
  const put = (n: number) => held((tx) => schedule(tx, 'a', reports, { n }, secondly));

  expect([await put(1), await put(1), await put(2)]).toEqual(['scheduled', 'unchanged', 'scheduled']);
  expect(await rows()).toMatchObject([{ name: 'a', payload: '{"n":2}', version: '2' }]);

  expect(await commit((tx) => unschedule(tx, 'a'))).toBe('removed');
  expect(await commit((tx) => unschedule(tx, 'a'))).toBe('unknown');
  expect(await writeDue(made.database, 'a', secondsAgo(1))).toBe('unknown');
  expect(await put(2)).toBe('scheduled');
  expect(await rows()).toMatchObject([{ removed: false }]);
});

test('a time writes one message, also when it is tried again, at once, or after a change of the schedule', {
  tags: ['repeating-messages'],
}, async () => {
  const options = { ...secondly, key: 'k', headers: { tenant: 'blue' } };
  await held((tx) => schedule(tx, 'a', reports, { n: 1 }, options));
  const at = secondsAgo(2);

  const answers = await Promise.all([1, 2, 3].map(() => writeDue(made.database, 'a', at)));
  await held((tx) => schedule(tx, 'a', reports, { n: 2 }, options));

  expect([...answers, await writeDue(made.database, 'a', at)]).toEqual(Array(4).fill('written'));
  expect(await written()).toEqual([
    {
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8/),
      payload: '{"n":1}',
      key: 'k',
      headers: { tenant: 'blue', schedule: 'a', 'scheduled-at': at.toISOString() },
      state: 'ready',
    },
  ]);
  expect(await writeDue(made.database, 'a', secondsAgo(1))).toBe('written');
  expect((await written()).map(({ payload }) => payload)).toEqual(['{"n":1}', '{"n":2}']);
});

test('a time that is later than the schedule catches up writes nothing, and one within writes its message', {
  tags: ['repeating-messages'],
}, async () => {
  await held((tx) => schedule(tx, 'a', reports, { n: 1 }, { ...secondly, catchUp: '10m' }));

  expect(await writeDue(made.database, 'a', secondsAgo(601))).toBe('late');
  expect(await written()).toEqual([]);
  expect(await writeDue(made.database, 'a', secondsAgo(590))).toBe('written');
});

test('each message expires so long after the time that it stands for, and a change of that is a change', {
  tags: ['repeating-messages'],
}, async () => {
  const put = (after: Duration | undefined) =>
    held((tx) =>
      schedule(
        tx,
        'a',
        reports,
        { n: 1 },
        { ...secondly, ...(after !== undefined && { expires: { after } }) },
      ),
    );
  const expiries = async () =>
    (
      await made.database.query<{ at: Date | null }>(
        'select expires_at as at from outbox.message order by position',
      )
    ).map(({ at }) => at);
  expect([await put('10m'), await put('10m'), await put('20m')]).toEqual([
    'scheduled',
    'unchanged',
    'scheduled',
  ]);
  const at = secondsAgo(600);

  expect(await writeDue(made.database, 'a', at)).toBe('written');
  expect(await expiries()).toEqual([new Date(at.getTime() + 1_200_000)]);
  const operator = operations({ database: { url: made.url } });
  const from = Date.now();
  await operator.schedules.run('a', { actor: 'ada', reason: 'now' });
  expect(await operator.schedules.list()).toMatchObject([{ name: 'a', expiresAfterMs: 1_200_000 }]);
  await operator.close();
  const ranForMs = ((await expiries())[1]?.getTime() ?? 0) - from;
  expect(ranForMs).toBeGreaterThanOrEqual(1_200_000 - 1_000);
  expect(ranForMs).toBeLessThan(1_200_000 + 60_000);

  expect(await put(undefined)).toBe('scheduled');
  expect(await writeDue(made.database, 'a', secondsAgo(1))).toBe('written');
  expect((await expiries())[2]).toBeNull();
  const wrong = commit((tx) =>
    // @ts-expect-error -- plain JavaScript may pass it
    schedule(tx, 'b', reports, { n: 1 }, { ...secondly, expires: { at: new Date() } }),
  );
  await expect(wrong).rejects.toMatchObject({ code: 'OUTBOX_OPTION_INVALID' });
});

test('with overlap skip a time writes nothing while the previous message is to be sent, with allow it does', {
  tags: ['repeating-messages'],
}, async () => {
  const put = (overlap: 'allow' | 'skip') =>
    held((tx) => schedule(tx, 'a', reports, { n: 1 }, { ...secondly, overlap }));
  await put('skip');
  // Once: between two of them a second may begin.
  const first = secondsAgo(9);

  expect(await writeDue(made.database, 'a', first)).toBe('written');
  expect(await writeDue(made.database, 'a', first)).toBe('written');
  expect(await writeDue(made.database, 'a', secondsAgo(8))).toBe('busy');
  await put('allow');
  expect(await writeDue(made.database, 'a', secondsAgo(7))).toBe('written');
  await put('skip');
  await made.database.query(`update outbox.message set state = 'failed' where state = 'ready'`);
  expect(await writeDue(made.database, 'a', secondsAgo(6))).toBe('written');
  expect(await written()).toHaveLength(3);
});

test('with overlap skip a time writes nothing while the edited copy of the previous message is to be sent', async () => {
  await held((tx) => schedule(tx, 'a', reports, { n: 1 }, { ...secondly, overlap: 'skip' }));
  expect(await writeDue(made.database, 'a', secondsAgo(9))).toBe('written');
  const at = operations({ database: { url: made.url } });
  const author = { actor: 'ada', reason: 'a typing error' };
  for (let n = 2; n <= 3; n += 1) {
    const failed = await made.database.query<{ id: string }>(
      `update outbox.message set state = 'failed' where state = 'ready' returning id`,
    );
    await at.edit(failed[0]?.id ?? '', { ...author, payload: { n } });
  }
  await at.close();

  expect(await writeDue(made.database, 'a', secondsAgo(8))).toBe('busy');
  await made.database.query(`update outbox.message set state = 'failed' where state = 'ready'`);
  expect(await writeDue(made.database, 'a', secondsAgo(7))).toBe('written');
});

test('a repeat that is tried again is found and canceled by the ref of its schedule, and the next one is written', {
  tags: ['repeating-messages'],
}, async () => {
  const put = (ref: string) =>
    held((tx) => schedule(tx, 'a', reports, { n: 1 }, { ...secondly, ref, overlap: 'skip' }));
  expect([await put('old'), await put('monthly'), await put('monthly')]).toEqual([
    'scheduled',
    'scheduled',
    'unchanged',
  ]);
  // A waiting message of the same ref is another one, and holds up none.
  const other = await commit((tx) => send(tx, reports, { n: 2 }, { ref: 'monthly', after: '1h' }));
  expect(await writeDue(made.database, 'a', secondsAgo(9))).toBe('written');
  expect(await writeDue(made.database, 'a', secondsAgo(8))).toBe('busy');
  await made.database.query(
    `update outbox.message set state = 'retrying', due_at = now() + '1 hour', attempts = 1 where state = 'ready'`,
  );
  const at = operations({ database: { url: made.url } });
  const byRef = () => at.list({ topic: 'reports', ref: 'monthly' });

  expect((await byRef()).messages.map(({ state }) => state).toSorted()).toEqual(['retrying', 'waiting']);
  expect(await commit((tx) => cancel(tx, reports, 'monthly'))).toBe('canceled');
  expect((await byRef()).messages.find(({ id }) => id === other.id)).toMatchObject({ state: 'canceled' });
  expect(await writeDue(made.database, 'a', secondsAgo(8))).toBe('busy');
  const [repeat] = await at.cancel({ topic: 'reports', ref: 'monthly' }, { actor: 'ada' });
  expect(repeat).toMatchObject({ result: 'canceled' });
  expect(repeat?.id).not.toBe(other.id);
  await at.close();
  expect(await writeDue(made.database, 'a', secondsAgo(7))).toBe('written');
});

test('operators list, pause, resume, run and remove a schedule without Temporal, and the audit has it', {
  tags: ['repeating-messages'],
}, async () => {
  await held((tx) => schedule(tx, 'a', reports, { n: 1 }, secondly));
  const at = operations({ database: { url: made.url } });
  const by = { actor: 'ada', reason: 'a test' };

  const [listed] = await at.schedules.list();
  expect(listed).toMatchObject({
    name: 'a',
    paused: false,
    followed: false,
    everyMs: 1_000,
    lastAt: null,
  });
  expect(listed?.nextAt.map((next) => next.getTime() % 1_000)).toEqual([0, 0, 0]);

  expect(await at.schedules.pause('a', { ...by, dryRun: true })).toEqual({ changed: true });
  expect(await writeDue(made.database, 'a', secondsAgo(9))).toBe('written');
  expect(await at.schedules.pause('a', by)).toEqual({ changed: true });
  expect(await at.schedules.pause('a', by)).toEqual({ changed: false });
  expect(await writeDue(made.database, 'a', secondsAgo(8))).toBe('paused');
  // A service that starts again does not end the pause.
  await held((tx) => schedule(tx, 'a', reports, { n: 2 }, secondly));
  expect(await writeDue(made.database, 'a', secondsAgo(7))).toBe('paused');
  const { messageId } = await at.schedules.run('a', by);
  expect(await at.schedules.resume('a', by)).toEqual({ changed: true });
  expect(await at.schedules.list()).toMatchObject([{ lastMessageId: messageId, paused: false }]);
  expect(await at.schedules.remove('a', by)).toEqual({ changed: true });
  await expect(at.schedules.run('a', by)).rejects.toMatchObject({ code: 'OUTBOX_SCHEDULE_UNKNOWN' });
  await at.close();

  expect(
    await made.database.query('select action, result, actor from outbox.audit order by id'),
  ).toMatchObject(
    ['pause', 'pause', 'run', 'resume', 'remove'].map((step, n) => ({
      action: `${step}-schedule`,
      result: n === 1 ? 'unchanged' : 'done',
      actor: 'ada',
    })),
  );
});
