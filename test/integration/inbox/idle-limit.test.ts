import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Sql } from '../../../src/store/database/database.ts';
import { writeBreakers } from '../../../src/store/inbox/breakers.ts';
import { writeConsumer } from '../../../src/store/inbox/consumers.ts';
import { endLetterTurn, markCopied, takeLetterTurn } from '../../../src/store/inbox/dead-letters.ts';
import { dropEnded, dropFailed } from '../../../src/store/inbox/ended.ts';
import { carryKept, carryLive, dropEpoch, rollEpoch } from '../../../src/store/inbox/epochs.ts';
import { clearMark, clearMarks, markUnlessSuspect, setMark } from '../../../src/store/inbox/marks.ts';
import { markKeysTold } from '../../../src/store/inbox/parked-keys.ts';
import { noteArrivals } from '../../../src/store/inbox/receive.ts';
import { beginTry, failTry, joinTry, returnTry } from '../../../src/store/inbox/tries.ts';
import { noteWindow } from '../../../src/store/inbox/window.ts';
import { createTestDatabase, type TestDatabase } from '../../support/fixtures/database.ts';

let made: TestDatabase;
beforeAll(async () => {
  made = await createTestDatabase();
});
afterAll(() => made.drop());

const id = randomUUID();
const partition = { group: 'g', address: 'orders', partition: 0 };
const rules = { retryMs: [0], blockKey: false, maxKills: 3 };
const begun = {
  id: '1',
  topic: 'orders',
  key: 'k',
  address: 'orders',
  partition: 0,
  offset: '1',
  attempts: 1,
  number: 0,
};
const message = { ...begun, wire: '{"key":"k","headers":{}}', body: null, sentAt: new Date(0) };

type Step = (sql: Sql) => Promise<unknown>;

const mark: Step = (sql) => setMark(sql, partition, { owner: id, ids: ['a'], kills: 0 });

/** Whatever holds a lock of the inbox until its transaction ends, and what was committed before it. */
const steps: readonly [name: string, step: Step, before?: Step][] = [
  ['receives one', (sql) => noteArrivals(sql, 'g', [{ id: 'a', topic: 'orders', key: null }])],
  [
    'receives many',
    (sql) =>
      noteArrivals(
        sql,
        'g',
        ['a', 'b'].map((one) => ({ id: one, topic: 'orders', key: null })),
      ),
  ],
  ['begins a try', (sql) => beginTry(sql, id, rules, { worker: '1', most: 1, alone: false })],
  ['joins a try', (sql) => joinTry(sql, 'g', id, [message], '1')],
  [
    'ends a try that failed',
    (sql) => failTry(sql, 'g', id, { message, reason: 'error', error: 'Error: no', final: false }, rules),
  ],
  [
    'ends the tries of dead processes',
    (sql) => sql.query(`select * from outbox.end_dead_tries('g', 1, 3, false)`),
  ],
  ['returns a try', (sql) => returnTry(sql, 'g', id, message, 0)],
  [
    'marks keys as started',
    async (sql) => {
      await sql.query(
        `insert into outbox.parked_key (id, consumer_group, topic, key, workflow_id, next_at) values ($1, 'g', 'orders', 'k', 'w', now())`,
        [id],
      );
      await markKeysTold(sql, [{ keyId: id, toldAt: null }]);
    },
  ],
  ['marks what is in hand', mark],
  ['retries a kept message', (sql) => sql.query(`select outbox.retry_kept('g', 'a')`)],
  ['clears its marks', (sql) => clearMarks(sql, 'g', id), mark],
  ['clears the mark of a partition', (sql) => clearMark(sql, partition, id), mark],
  [
    'marks copies',
    (sql) => markCopied(sql, 'g', ['a']),
    (sql) =>
      sql.query(
        `insert into outbox.parked (consumer_group, message_id, state, topic, address, partition, "offset", wire, sent_at)
         values ('g', 'a', 'failed', 'orders', 'orders', 0, '1', '{}', now())`,
      ),
  ],
  ['notes its window', (sql) => noteWindow(sql, { group: 'g', windowMs: 3_600_000 })],
  ['takes the turn of copying', (sql) => takeLetterTurn(sql, 'g', id, 1_000)],
  [
    'ends the turn of copying',
    (sql) => endLetterTurn(sql, 'g', id),
    (sql) => takeLetterTurn(sql, 'g', id, 1_000),
  ],
  [
    'marks messages that are not suspect',
    (sql) => markUnlessSuspect(sql, partition, { owner: id, ids: ['a'], kills: 0 }),
  ],
  [
    'writes that it runs',
    (sql) => writeConsumer(sql, { id, group: 'g', host: 'h', pid: 1, version: '1', partitions: [] }),
  ],
  [
    'writes what it pauses',
    (sql) =>
      writeBreakers(sql, { group: 'g', host: 'h', pid: 1, consumer: id }, [
        { address: 'a', pausedMs: 0, failedKeys: 1, keys: 1, probes: 0, nextProbeInMs: 0, error: 'no' },
      ]),
  ],
  ['deletes failed messages', (sql) => dropFailed(sql, { group: 'g', ageMs: 0, copied: false })],
  ['deletes ended messages', (sql) => dropEnded(sql, 0, null)],
  ['ends an epoch', (sql) => rollEpoch(sql, 0, { patienceMs: 50, pauseMs: 0 })],
  ['carries live ids', (sql) => carryLive(sql, '1')],
  ['carries kept ids', (sql) => carryKept(sql, '1')],
  ['drops an epoch', (sql) => dropEpoch(sql, '1', { patienceMs: 50, pauseMs: 0 })],
];

/** Runs a step in a transaction, reads settings of that, and takes it back. */
async function settingsAfter(step: Step, ...names: readonly string[]): Promise<readonly string[]> {
  const settings: string[] = [];
  const undo = new Error('undo');
  await made.database
    .transaction(async (sql) => {
      await step(sql);
      for (const name of names) {
        const [row] = await sql.query<{ value: string }>('select current_setting($1) as value', [name]);
        settings.push(row?.value ?? '');
      }
      throw undo;
    })
    .catch((error: unknown) => {
      if (error !== undo) throw error;
    });
  return settings;
}

const ownLimits = { idleMs: 40_000, statementMs: 7_000 };
const received = (ids: readonly string[]) => ids.map((one) => ({ id: one, topic: 'orders', key: null }));
const idle = 'idle_in_transaction_session_timeout';

test.for<[string, Step]>([
  ['receives one', (sql) => noteArrivals(sql, 'g', received(['a']), ownLimits)],
  ['receives many', (sql) => noteArrivals(sql, 'g', received(['a', 'b']), ownLimits)],
  ['joins a try', (sql) => joinTry(sql, 'g', id, [message], '1', ownLimits)],
])('a transaction that %s waits for others no longer than its own limit', async ([, step]) => {
  expect(await settingsAfter(step, 'lock_timeout', 'statement_timeout', idle)).toEqual(['7s', '7s', '40s']);
});

test.for(steps)(
  'a transaction that %s and is then frozen is ended by the database',
  async ([, step, before]) => {
    if (before !== undefined) await made.database.transaction(before);
    expect(await settingsAfter(step, idle)).toEqual(['30s']);
  },
);
