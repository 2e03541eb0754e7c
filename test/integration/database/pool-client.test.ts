// @module-tag pool-keeps-promises
import { once } from 'node:events';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { once as onceByInbox } from '../../../src/consumer.ts';
import { faultOf } from '../../../src/inbox/handling/infrastructure-faults.ts';
import { clientOf, send, type Transaction, topic, transaction } from '../../../src/index.ts';
import { lanesOfNudge, nudgeChannel } from '../../../src/store/lane/nudge.ts';
import { proxiedDatabase } from '../../support/faults/proxied-database.ts';
import { createTestDatabase, type TestDatabase } from '../../support/fixtures/database.ts';
import { until } from '../../support/fixtures/until.ts';

const orders = topic('orders', z.object({ n: z.number() }));

let made: TestDatabase;
let pool: pg.Pool;
let uncaught: unknown[];
const note = (error: unknown): void => void uncaught.push(error);

beforeAll(async () => {
  made = await createTestDatabase();
  await made.database.query('create table effect (n int primary key)');
});

beforeEach(async () => {
  uncaught = [];
  process.on('uncaughtException', note);
  await made.database.query('truncate effect');
  pool = new pg.Pool({ connectionString: made.url, max: 2 });
});

afterEach(async () => {
  process.off('uncaughtException', note);
  await pool.end();
});

afterAll(() => made.drop());

/** Seen by another connection. */
async function effects(): Promise<readonly number[]> {
  const rows = await made.database.query<{ n: number }>('select n from effect order by n');
  return rows.map(({ n }) => n);
}

async function messages(): Promise<number> {
  const rows = await made.database.query('select from outbox.message');
  return rows.length;
}

const insert = 'insert into effect (n) values ($1)';

test('the writes, sends and processed ids of a pool commit together or not at all', async () => {
  const client = clientOf(pool);
  const before = await messages();
  const work = (end: () => void) =>
    client.$transaction((tx) =>
      onceByInbox(tx, 'group', 'a', async () => {
        await tx.query(insert, [1]);
        await send(tx, orders, { n: 1 });
        end();
        return 'done';
      }),
    );

  const failing = work(() => {
    throw new Error('the bank is closed');
  });
  await expect(failing).rejects.toThrow('the bank is closed');
  expect([await effects(), await messages()]).toEqual([[], before]);

  expect(await work(() => undefined)).toEqual({ duplicate: false, result: 'done' });
  expect(await work(() => undefined)).toEqual({ duplicate: true });
  expect([await effects(), await messages()]).toEqual([[1], before + 1]);
  expect(pool.idleCount).toBe(pool.totalCount);
});

test('transaction wakes the relays over the client of a pool and names the lane', async () => {
  const heard: string[] = [];
  const listener = await made.database.openSession(nudgeChannel, (payload) => void heard.push(payload));
  try {
    await transaction(clientOf(pool), (tx) => send(tx, orders, { n: 2 }), { isolationLevel: 'Serializable' });
    await until(() => heard.length > 0);
    expect(heard.flatMap(lanesOfNudge)).toEqual([{ topic: 'orders', lane: 0 }]);
  } finally {
    await listener.stop();
  }
});

test('the client of a pool is refused where a transaction is required', async () => {
  const client = clientOf(pool);
  await client.$connect();
  const before = await messages();
  await expect(send(client as unknown as Transaction, orders, { n: 3 })).rejects.toMatchObject({
    code: 'OUTBOX_NOT_IN_TRANSACTION',
  });
  expect(await messages()).toBe(before);
});

test('a transaction has the requested isolation level, otherwise that of the database', async () => {
  await made.database.query(
    `do $$ begin execute format('alter database %I set default_transaction_isolation = %L', current_database(), 'repeatable read'); end $$`,
  );
  const client = clientOf(pool);
  const levels = await Promise.all(
    [{}, { isolationLevel: 'ReadCommitted' as const }, { isolationLevel: 'Serializable' as const }].map(
      (options) =>
        client.$transaction(async (tx) => {
          const { rows } = await tx.query<{ level: string }>(
            `select current_setting('transaction_isolation') as level`,
          );
          return rows[0]?.level;
        }, options),
    ),
  );
  expect(levels).toEqual(['repeatable read', 'read committed', 'serializable']);
  await made.database.query(
    `do $$ begin execute format('alter database %I reset default_transaction_isolation', current_database()); end $$`,
  );
});

test('a transaction that exceeds its time is rolled back, and later statements of its work have no effect', async () => {
  const client = clientOf(pool);
  const tooLate: unknown[] = [];
  const work = client.$transaction(
    async (tx) => {
      await tx.query(insert, [1]);
      // The row is free as soon as the transaction is over, whatever its work does.
      await made.database.transaction(async (sql) => {
        await sql.query(`set local lock_timeout = '20s'`);
        await sql.query(insert, [1]);
      });
      tooLate.push(await tx.query(insert, [2]).catch((error: unknown) => error));
      tooLate.push(await send(tx, orders, { n: 2 }).catch((error: unknown) => error));
      return 'done';
    },
    { timeout: 2_000 },
  );

  const rolledBack = { code: 'OUTBOX_TRANSACTION_ROLLED_BACK', details: { limitMs: 2_000 } };
  await expect(work).rejects.toMatchObject(rolledBack);
  expect(tooLate).toMatchObject([rolledBack, rolledBack]);
  expect(await effects()).toEqual([1]);
  expect([pool.totalCount, pool.idleCount]).toEqual([1, 1]);
});

test('a statement of a timed-out transaction is rolled back once the server ends it', async () => {
  const work = clientOf(pool).$transaction(
    async (tx) => {
      await tx.query('set local statement_timeout = 4000');
      await tx.query('select pg_sleep(60)');
    },
    { timeout: 2_000 },
  );
  await expect(work).rejects.toMatchObject({ code: '57014' });
  expect([pool.totalCount, pool.idleCount]).toEqual([1, 1]);
});

test('a transaction refuses statements after its end, and contains those that were not awaited', async () => {
  const kept: { readonly late: (() => Promise<unknown>)[] } = { late: [] };
  await clientOf(pool).$transaction(async (tx) => {
    void tx.query('select pg_sleep(0.1)');
    void tx.query(insert, [1]);
    kept.late.push(
      () => tx.query(insert, [2]),
      () => tx.connection.query(insert, [3]),
      () => send(tx, orders, { n: 4 }),
    );
    tx.connection.release();
  });
  expect(await effects()).toEqual([1]);

  for (const late of kept.late)
    await expect(late()).rejects.toMatchObject({ code: 'OUTBOX_NOT_IN_TRANSACTION' });
  expect(await effects()).toEqual([1]);
});

test('the connection of a transaction accepts every form of statement of pg, in that transaction', async () => {
  const answers: unknown[] = [];
  let late: (() => Promise<unknown>) | undefined;
  await clientOf(pool).$transaction(async ({ connection }) => {
    const byCallback = (text: string, values: unknown[]) =>
      new Promise((resolve) => {
        connection.query(text, values, (error: unknown, result: unknown) => resolve(error ?? result));
      });
    answers.push(await byCallback('select 1 as n where $1', [true]));
    answers.push(await connection.query({ text: 'select 2 as n', rowMode: 'array' }));
    const submitted = new pg.Query('select 3 as n');
    const rows: unknown[] = [];
    submitted.on('row', (row) => void rows.push(row));
    connection.query(submitted);
    await once(submitted, 'end');
    answers.push({ rows }, connection.escapeIdentifier('a'));
    // Not waited for.
    connection.query(insert, [1], () => undefined);
    late = () => byCallback(insert, [2]);
  });
  expect(answers).toMatchObject([{ rows: [{ n: 1 }] }, { rows: [[2]] }, { rows: [{ n: 3 }] }, '"a"']);
  expect(await late?.()).toMatchObject({ code: 'OUTBOX_NOT_IN_TRANSACTION' });
  expect(await effects()).toEqual([1]);
});

test('a transaction with a caught error of a statement commits nothing and rejects', async () => {
  const work = clientOf(pool).$transaction(async (tx) => {
    await tx.query(insert, [1]);
    await tx.query(insert, [1]).catch(() => undefined);
    return 'done';
  });
  await expect(work).rejects.toMatchObject({ code: 'OUTBOX_TRANSACTION_ROLLED_BACK' });
  expect(await effects()).toEqual([]);
});

test('waiting too long for a connection rejects, and a connection that arrives later returns to the pool', async () => {
  const client = clientOf(pool);
  const both = [await pool.connect(), await pool.connect()];
  const work = client.$transaction(async () => 'never', { maxWait: 50 });
  const error: unknown = await work.catch((thrown: unknown) => thrown);
  // Before what may be red: the end of the pool waits for them.
  for (const connection of both) connection.release();
  expect(error).toMatchObject({ code: 'OUTBOX_SERVER_UNAVAILABLE', details: { server: 'PostgreSQL' } });
  expect(faultOf(error)).toBe('away');
  await until(() => pool.idleCount === 2);
  expect(await client.$queryRawUnsafe('select 1 as one')).toEqual([{ one: 1 }]);
});

test('an unknown isolation level is refused before a connection is requested', async () => {
  const isolationLevel = 'Snapshot' as 'Serializable';
  const work = clientOf(pool).$transaction(async () => 'never', { isolationLevel });
  await expect(work).rejects.toMatchObject({ code: 'OUTBOX_OPTION_INVALID' });
  expect(pool.totalCount).toBe(0);
});

const pidOf = 'select pg_backend_pid() as pid';

test.for(['between two statements', 'within a statement', 'while it is idle'] as const)(
  'a connection that the server ends %s is replaced, without ending the process or costing its message a try',
  async (when) => {
    const client = clientOf(pool);
    const kill = async (pid: number | undefined): Promise<void> => {
      await made.database.query('select pg_terminate_backend($1, 5000)', [pid]);
    };
    const work = client.$transaction(async (tx) => {
      const { rows } = await tx.query<{ pid: number }>(pidOf);
      const pid = rows[0]?.pid;
      if (when === 'while it is idle') return pid;
      const sleeping = when === 'within a statement' ? tx.query('select pg_sleep(60)') : undefined;
      sleeping?.catch(() => undefined);
      await kill(pid);
      await (sleeping ?? tx.query(insert, [1]));
      return pid;
    });
    if (when === 'while it is idle') {
      await kill(await work);
      await until(() => pool.totalCount === 0);
    } else {
      const error: unknown = await work.catch((thrown: unknown) => thrown);
      expect(faultOf(error)).toBe('away');
    }

    await client.$transaction((tx) => tx.query(insert, [2]));
    expect(await effects()).toEqual([2]);
    expect(uncaught).toEqual([]);
  },
);

test('an unanswered commit is reported as unknown, and its connection is closed', async (context) => {
  const { proxy, url } = await proxiedDatabase(context, made.url, 1);
  const through = new pg.Pool({ connectionString: url, max: 1 });
  context.onTestFinished(() => through.end());
  const work = clientOf(through).$transaction(
    async (tx) => {
      await tx.query(insert, [1]);
      proxy.inject({ kind: 'drop-replies' });
    },
    { timeout: 2_000 },
  );
  const error: unknown = await work.catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({
    code: 'OUTBOX_SERVER_UNAVAILABLE',
    message: expect.stringContaining('it is unknown whether the transaction committed'),
  });
  expect(faultOf(error)).toBe('away');
  expect(proxy.fired('drop-replies')).toBeGreaterThan(0);
  expect(await effects()).toEqual([1]);
  expect(through.totalCount).toBe(0);
});

test('an unreachable server is reported by the code that a start waits for', async () => {
  const nowhere = new pg.Pool({ connectionString: 'postgresql://nobody@127.0.0.1:9/none' });
  const error: unknown = await clientOf(nowhere)
    .$transaction(async () => 'never')
    .catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({
    code: 'OUTBOX_SERVER_UNAVAILABLE',
    message: expect.stringContaining('127.0.0.1:9'),
  });
  expect(faultOf(error)).toBe('away');
  await nowhere.end();
});
