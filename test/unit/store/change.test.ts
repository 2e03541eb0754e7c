import { expect, test } from 'vitest';
import { changeLocked, transactOrRehearse } from '../../../src/store/audit/audit.ts';
import {
  type Changed,
  discardChange,
  type LockedMessage,
  type MessageChange,
  outboxChange,
  retryChange,
} from '../../../src/store/message/change.ts';
import { withdrawAsOwner, withdrawWaiting } from '../../../src/store/message/withdraw.ts';
import { ScriptedDatabase } from '../../support/fixtures/scripted-database.ts';

const lock = 'order by m.id for update skip locked';
const standing = 'a.archived_at is not null as archived';
const audit = 'insert into outbox.audit';
const author = { actor: 'ann', reason: 'a test' };

const changeMessages = (
  database: ScriptedDatabase,
  ids: readonly string[],
  change: MessageChange<string>,
  { last, dryRun }: { readonly last: boolean; readonly dryRun: boolean },
) =>
  transactOrRehearse(database, dryRun, (sql) => changeLocked(sql, ids, outboxChange(change), author, last));

const message = (id: string, state: LockedMessage['state'] = 'failed', lane = 0): LockedMessage => ({
  id,
  topic: 'orders',
  lane,
  state,
  attempts: 2,
  sends: 1,
});

/** Five messages: two that the change answers, one it refuses, one it defers; one is locked, one archived, one unknown. */
function stage() {
  const ids = ['done', 'more', 'late', 'later', 'busy', 'old', 'gone'];
  const entries: Record<string, unknown>[] = [];
  const database = new ScriptedDatabase()
    .on(
      lock,
      ['done', 'more', 'late', 'later'].map((id) => message(id)),
    )
    .on(
      standing,
      ids
        .slice(0, 6)
        .map((id) => ({ id, topic: 'orders', lane: 1, state: 'failed', archived: id === 'old' })),
    )
    .on(audit, ([json]) => {
      entries.push(...(JSON.parse(json as string) as Record<string, unknown>[]));
      return [];
    });
  const steps: string[] = [];
  const change: MessageChange<'changed'> = {
    action: 'test',
    before: async () => void steps.push(`before ${database.asked.length}`),
    apply: async (_sql, rows): Promise<readonly Changed<'changed'>[]> => {
      steps.push(`apply ${rows.map(({ id }) => id).join(' ')}`);
      return [
        { id: 'done', result: 'changed', details: { n: 1 } },
        { id: 'more', result: 'changed' },
        { id: 'later', result: 'defer' },
      ];
    },
  };
  return { ids, database, change, entries, steps };
}

const resultsOf = (answers: readonly { readonly id: string; readonly result: string }[]) =>
  Object.fromEntries(answers.map(({ id, result }) => [id, result]));

test('locks are taken first, and busy or deferred messages are left for another round, without an entry', async () => {
  const { ids, database, change, entries, steps } = stage();
  const round = await changeMessages(database, ids, change, { last: false, dryRun: false });
  expect(steps).toEqual(['before 0', 'apply done more late later']);
  const results = { done: 'changed', more: 'changed', late: 'too-late', old: 'too-late', gone: 'unknown' };
  expect(resultsOf(round.answers)).toEqual(results);
  expect(round.busy).toEqual(['busy']);
  expect(round.deferred.map(({ id }) => id)).toEqual(['later']);
  expect(round.answers.find(({ id }) => id === 'gone')).toMatchObject({
    topic: null,
    lane: null,
    state: null,
  });
  expect(round.answers[0]).toEqual({
    id: 'done',
    topic: 'orders',
    lane: 1,
    state: 'failed',
    result: 'changed',
  });
  const by = { ...author, action: 'test' };
  expect(entries).toHaveLength(5);
  expect(entries[0]).toMatchObject({
    ...by,
    message_id: 'done',
    topic: 'orders',
    result: 'changed',
    details: { n: 1 },
  });
  expect(entries[4]).toMatchObject({
    ...by,
    message_id: 'gone',
    topic: null,
    result: 'unknown',
    details: null,
  });
  expect(database.asked.every(({ inTransaction }) => inTransaction)).toBe(true);
});

test('the last round answers all messages: locked and deferred ones are busy', async () => {
  const { ids, database, change, entries } = stage();
  const round = await changeMessages(database, ids, change, { last: true, dryRun: false });
  expect(resultsOf(round.answers)).toMatchObject({
    later: 'busy',
    busy: 'busy',
    old: 'too-late',
    gone: 'unknown',
  });
  expect(round.answers).toHaveLength(7);
  expect(round.busy).toEqual([]);
  expect(round.deferred).toEqual([]);
  expect(entries).toHaveLength(7);
});

test('a dry run answers the same and is rolled back', async () => {
  const { ids, database, change } = stage();
  const ends: string[] = [];
  const transaction = database.transaction.bind(database);
  database.transaction = (work) => {
    const result = transaction(work);
    result.then(
      () => ends.push('committed'),
      () => ends.push('rolled back'),
    );
    return result;
  };
  for (const dryRun of [true, false]) {
    const { answers } = await changeMessages(database, ids, change, { last: true, dryRun });
    expect(resultsOf(answers)).toMatchObject({ done: 'changed' });
  }
  expect(ends).toEqual(['rolled back', 'committed']);
  database.refuse(standing, new Error('no connection'));
  const failing = changeMessages(database, ids, change, { last: true, dryRun: true });
  await expect(failing).rejects.toThrow('no connection');
});

test('a retry and a discard return the previous state of the changed messages', async () => {
  const database = new ScriptedDatabase()
    .on('m.expires_at <= outbox.clock()', [])
    .on('update only outbox.message m set', [{ id: 'a' }]);
  const rows = [message('a', 'retrying'), message('b')];
  expect(retryChange.action).toBe('retry');
  expect(await retryChange.apply(database, rows)).toEqual([
    { id: 'a', result: 'retried', details: { from: 'retrying', attempts: 2, sends: 1 } },
  ]);
  expect(discardChange.action).toBe('discard');
  expect(await discardChange.apply(database, rows)).toEqual([
    { id: 'a', result: 'discarded', details: { attempts: 2 } },
  ]);
  expect(database.asked.map(({ values }) => values)).toEqual(Array.from({ length: 3 }, () => [['a', 'b']]));
});

const cancel = `outbox.cancel(x.topic, null, x.id) = 'canceled'`;
const unpublished = `v.state::text = 'ready' and not v.maybe_published`;
const seize = 'update outbox.lane l set owner = $3';
const owns = 'outbox.lane_owned(l, $3) for update';
const cancelReady = `set state = 'canceled', xid = pg_current_xact_id()`;

const canceled = ([ids]: readonly unknown[]) => (ids as string[]).map((id) => ({ id, result: 'canceled' }));

test('without the lane, waiting messages are withdrawn at once, and ready ones that may be unpublished are deferred', async () => {
  const database = new ScriptedDatabase().on(cancel, canceled).on(unpublished, [{ id: 'r1' }]);
  const rows = [
    message('w', 'waiting'),
    message('r1', 'ready'),
    message('h', 'blocked'),
    message('r2', 'ready'),
  ];
  expect(await withdrawWaiting.apply(database, rows)).toEqual([
    { id: 'w', result: 'canceled' },
    { id: 'h', result: 'canceled' },
    { id: 'r1', result: 'defer' },
  ]);
  expect(database.asked.map(({ values }) => values)).toEqual([
    [
      ['w', 'h'],
      ['orders', 'orders'],
    ],
    [['r1', 'r2']],
  ]);
  expect(withdrawWaiting.action).toBe('withdraw');
});

test('with the lane, its messages are withdrawn and those of other lanes deferred; without it, all are deferred', async () => {
  for (const [owned, seizes] of [
    [true, false],
    [true, true],
    [false, false],
  ] as const) {
    const database = new ScriptedDatabase()
      .on('insert into outbox.lane', [])
      .on(seize, [])
      .on(owns, owned ? [{}] : [])
      .on('outbox.take_out(', [])
      .on(cancelReady, canceled)
      .on(cancel, canceled);
    const rows = [message('w', 'waiting', 2), message('r', 'ready', 2), message('other', 'waiting', 3)];
    const elsewhere = { ...message('bill', 'ready', 2), topic: 'bills' };
    const change = withdrawAsOwner({ topic: 'orders', lane: 2 }, 'me', seizes);
    // A caller that has not requested the lane does not own it.
    expect(new Set(Object.values(resultsOf(await change.apply(database, rows))))).toEqual(new Set(['defer']));
    database.asked.length = 0;
    await change.before?.(database);
    const results = resultsOf(await change.apply(database, [...rows, elsewhere]));
    const here = owned ? 'canceled' : 'defer';
    expect(results).toEqual({ other: 'defer', bill: 'defer', w: here, r: here });
    expect(database.valuesOf(seize)).toEqual(seizes ? [['orders', 2, 'me']] : []);
    expect(database.valuesOf(owns)).toEqual([['orders', 2, 'me']]);
    expect(database.valuesOf(cancelReady)).toEqual([[owned ? ['r'] : [], 'me']]);
    expect(change.action).toBe('withdraw');
  }
});
