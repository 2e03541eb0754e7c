import { afterEach, beforeEach, expect, test } from 'vitest';
import { LaneBlockers } from '../../../src/relay/lane-blockers.ts';
import type { RelayEvent } from '../../../src/relay/report.ts';
import { byNow, fakeTime, pass, realTime } from '../../support/fixtures/fake-time.ts';
import { ScriptedDatabase } from '../../support/fixtures/scripted-database.ts';

beforeEach(fakeTime);
afterEach(realTime);

const locks = 'from pg_locks k left join pg_stat_activity';
const blocker = (transaction: string, application = 'psql') => ({ pid: 41, transaction, application });

function blockers() {
  const events: RelayEvent[] = [];
  const database = new ScriptedDatabase().on(locks, []);
  const looked = new LaneBlockers(database, (event) => events.push(event));
  /** Calls it ten times a second. */
  const lookFor = async (ms: number) => {
    for (let at = 0; at < ms; at += 100) {
      void looked.check();
      await pass(100);
    }
  };
  return { database, events, looked, lookFor, looks: () => database.asked.length };
}

test('locks are checked every five seconds, however often it is called', async () => {
  const { lookFor, looks } = blockers();
  await lookFor(5_000);
  expect(looks()).toBe(1);
  await lookFor(100);
  expect(looks()).toBe(2);
  await lookFor(4_900);
  expect(looks()).toBe(2);
});

test('a transaction is reported after being seen for five seconds, and again a minute later', async () => {
  const { database, events, lookFor } = blockers();
  database.on(locks, [blocker('3/9')]);
  await lookFor(5_000);
  expect(events).toEqual([]);
  await lookFor(100);
  expect(events).toEqual([
    {
      type: 'error',
      during: 'start-lanes',
      error: expect.objectContaining({
        code: 'OUTBOX_LANE_LOCKED',
        message:
          'Process 41 of the server ("psql") holds locks on rows of outbox.lane in a transaction that has been open for at least 5 s. Their lanes wait.',
        details: { pid: 41, application: 'psql', seconds: 5 },
      }),
    },
  ]);
  await lookFor(59_900);
  expect(events).toHaveLength(1);
  await lookFor(100);
  expect(events).toHaveLength(2);
  expect(events[1]).toMatchObject({ error: { details: { seconds: 65 } } });
});

test('one process that locks in one transaction after the other blocks nothing for long', async () => {
  const { database, events, lookFor } = blockers();
  let n = 0;
  database.on(locks, () => [blocker(`3/${++n}`, '')]);
  await lookFor(20_000);
  expect(events).toEqual([]);
});

test('a transaction that released its locks in between counts afresh', async () => {
  const { database, events, lookFor } = blockers();
  database.on(locks, [blocker('3/9')]);
  await lookFor(5_000);
  database.on(locks, []);
  await lookFor(5_000);
  database.on(locks, [blocker('3/9')]);
  await lookFor(5_000);
  expect(events).toEqual([]);
  await lookFor(100);
  expect(events).toHaveLength(1);
});

test('a failed look is reported, and the next one works normally', async () => {
  const { database, events, lookFor } = blockers();
  const error = new Error('no connection');
  database.refuse(locks, error);
  await lookFor(100);
  expect(events).toEqual([{ type: 'error', during: 'look', error }]);
  database.on(locks, [blocker('3/9', '')]);
  await lookFor(10_000);
  expect(events.slice(1)).toMatchObject([
    { error: { message: expect.stringMatching(/^Process 41 of the server holds locks/) } },
  ]);
});

test('other times can be set', async () => {
  const events: RelayEvent[] = [];
  const database = new ScriptedDatabase().on(locks, [blocker('3/9')]);
  const looked = new LaneBlockers(database, (event) => events.push(event), {
    tellAfterMs: 20,
    lookEveryMs: 10,
  });
  await byNow(looked.check());
  await pass(10);
  await byNow(looked.check());
  expect(events).toHaveLength(0);
  await pass(10);
  await byNow(looked.check());
  expect(events).toHaveLength(1);
});
