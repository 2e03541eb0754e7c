import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Sql } from '../../src/store/database.ts';
import { carryKept, carryLive, dropEpoch, rollEpoch } from '../../src/store/inbox/epochs.ts';
import { setMark } from '../../src/store/inbox/marks.ts';
import { markKeysTold } from '../../src/store/inbox/parked-keys.ts';
import { receive } from '../../src/store/inbox/receive.ts';
import { beginTry, failTry, joinTry } from '../../src/store/inbox/tries.ts';
import { createTestDatabase } from '../support/database.ts';

const id = randomUUID();
const rules = { retryMs: [0], holdKey: false };
const begun = {
  id: '1',
  topic: 'orders',
  key: 'k',
  address: 'orders',
  partition: 0,
  offset: '1',
  attempts: 1,
};
const message = { ...begun, wire: '{"key":"k","headers":{}}', body: null, sentAt: new Date(0) };

/** Whatever holds a lock of the inbox until its transaction ends. */
const steps: readonly [name: string, step: (sql: Sql) => Promise<unknown>][] = [
  ['receives one', (sql) => receive(sql, 'g', [{ id: 'a', topic: 'orders', key: null }])],
  [
    'receives many',
    (sql) =>
      receive(
        sql,
        'g',
        ['a', 'b'].map((one) => ({ id: one, topic: 'orders', key: null })),
      ),
  ],
  ['begins a try', (sql) => beginTry(sql, id, rules)],
  ['joins a try', (sql) => joinTry(sql, 'g', id, message)],
  [
    'ends a try that failed',
    (sql) => failTry(sql, 'g', { message, reason: 'error', error: 'Error: no', final: false }, rules),
  ],
  [
    'tells of keys',
    async (sql) => {
      await sql.query(
        `insert into outbox.parked_key (id, consumer_group, topic, key, workflow_id, next_at) values ($1, 'g', 'orders', 'k', 'w', now())`,
        [id],
      );
      await markKeysTold(sql, [{ keyId: id, toldAt: null }]);
    },
  ],
  [
    'marks what is in hand',
    (sql) =>
      setMark(
        sql,
        { group: 'g', address: 'orders', partition: 0 },
        { owner: id, size: 1, lastId: 'a', kills: 0 },
      ),
  ],
  ['decides about a kept message', (sql) => sql.query(`select outbox.retry_kept('g', 'a')`)],
  ['ends an epoch', (sql) => rollEpoch(sql, 0, 50)],
  ['carries live ids', (sql) => carryLive(sql, '1')],
  ['carries kept ids', (sql) => carryKept(sql, '1')],
  ['drops an epoch', (sql) => dropEpoch(sql, '1', 50)],
];

test.for(steps)(
  'whoever %s and is frozen then is ended by the database',
  async ([, step], { onTestFinished }) => {
    const made = await createTestDatabase();
    onTestFinished(() => made.drop());
    const limit = await made.database.transaction(async (sql) => {
      await step(sql);
      const [row] = await sql.query<{ limit: string }>(
        `select current_setting('idle_in_transaction_session_timeout') as limit`,
      );
      return row?.limit;
    });
    expect(limit).toBe('30s');
  },
);
