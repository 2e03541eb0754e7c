import { expect, test } from 'vitest';
import { discardChange, type LockedMessage, retryChange } from '../../../src/store/message/change.ts';
import { rescheduleChange } from '../../../src/store/message/reschedule.ts';
import { withdrawAsOwner } from '../../../src/store/message/withdraw.ts';
import { ScriptedDatabase } from '../../support/fixtures/scripted-database.ts';

const message = (id: string, state: LockedMessage['state'] = 'failed', lane = 0): LockedMessage => ({
  id,
  topic: 'orders',
  lane,
  state,
  attempts: 2,
  sends: 1,
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

test('a reschedule of many returns old and new times and leaves out those that came too late', async () => {
  const move = 'outbox.move_due(x.topic';
  const due = 'm.due_at as "dueAt"';
  const rows = ['a', 'b', 'c'].map(
    (id) => ({ id, topic: 'orders', lane: 0, state: 'waiting', attempts: 0, sends: 0 }) as const,
  );
  for (const [given, values] of [
    [{ afterMs: 5 }, [5, null, null]],
    [{ at: 'then' }, [null, 'then', null]],
    [{ shiftMs: -5 }, [null, null, -5]],
  ] as const) {
    const [from, to] = [new Date(1), new Date(2)];
    let moved = false;
    const database = new ScriptedDatabase()
      .on(move, () => {
        moved = true;
        return [
          { id: 'a', result: 'rescheduled' },
          { id: 'b', result: 'too-late' },
          { id: 'c', result: 'past-expiry' },
        ];
      })
      .on(due, () => [{ id: 'a', dueAt: moved ? to : from }]);
    const change = rescheduleChange(given);
    expect(change.action).toBe('reschedule');
    expect(await change.apply(database, rows)).toEqual([
      { id: 'a', result: 'rescheduled', details: { from, to } },
      { id: 'c', result: 'past-expiry', details: { from: null, to: null } },
    ]);
    expect(database.valuesOf(move)).toEqual([[['a', 'b', 'c'], ['orders', 'orders', 'orders'], ...values]]);
  }
});

const cancel = `outbox.cancel(x.topic, null, x.id) = 'canceled'`;
const seize = 'update outbox.lane l set owner = $3';
const owns = 'outbox.lane_owned(l, $3) for update';
const cancelReady = `set state = 'canceled', xid = pg_current_xact_id()`;
const canceled = ([ids]: readonly unknown[]) => (ids as string[]).map((id) => ({ id, result: 'canceled' }));

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
    expect(new Set((await change.apply(database, rows)).map(({ result }) => result))).toEqual(
      new Set(['defer']),
    );
    database.asked.length = 0;
    await change.before?.(database);
    const answers = await change.apply(database, [...rows, elsewhere]);
    const results = Object.fromEntries(answers.map(({ id, result }) => [id, result]));
    const here = owned ? 'canceled' : 'defer';
    expect(results).toEqual({ other: 'defer', bill: 'defer', w: here, r: here });
    expect(database.valuesOf(seize)).toEqual(seizes ? [['orders', 2, 'me']] : []);
    expect(database.valuesOf(owns)).toEqual([['orders', 2, 'me']]);
    expect(database.valuesOf(cancelReady)).toEqual([[owned ? ['r'] : [], 'me']]);
    expect(change.action).toBe('withdraw');
  }
});
