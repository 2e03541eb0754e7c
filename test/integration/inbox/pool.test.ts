import pg from 'pg';
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import type {
  ConsumerEvent,
  ConsumerSettings,
  InboxMessage,
  PoolTransactionClient,
} from '../../../src/consumer.ts';
import { clientOf, consumer } from '../../../src/consumer.ts';
import { send, topic } from '../../../src/index.ts';
import { memoryBroker } from '../../../src/testing.ts';
import { createTestDatabase, type TestDatabase } from '../../support/fixtures/database.ts';
import { range } from '../../support/fixtures/inbox-stage.ts';
import { openPrisma } from '../../support/fixtures/prisma.ts';
import { until } from '../../support/fixtures/until.ts';

interface Numbered {
  readonly n: number;
}

type PoolTx = PoolTransactionClient<pg.PoolClient>;

interface Pooled extends Partial<ConsumerSettings> {
  /** Connections of its pool. @defaultValue 15 */
  readonly max?: number;
  /** Runs after the effect was written, in its transaction. */
  readonly after?: (message: InboxMessage<Numbered>, tx: PoolTx) => unknown;
}

/** As applications have pg read what JavaScript cannot hold: times to the microsecond, and 64 bits. */
const asText: pg.CustomTypesConfig = {
  getTypeParser: (id: Parameters<typeof pg.types.getTypeParser>[0], format?: 'text' | 'binary') =>
    id === pg.types.builtins.TIMESTAMPTZ || id === pg.types.builtins.INT8
      ? (value: unknown) => value
      : (pg.types.getTypeParser(id, format) as (value: unknown) => unknown),
};

const numbers = topic('numbers', z.object({ n: z.number() }));
const mails = topic('mails', z.object({ n: z.number() }));
const closed = new Error('the bank is closed');

let made: TestDatabase;
let groups = 0;
beforeAll(async () => {
  made = await createTestDatabase();
  await made.database.query('create table effect (seq bigserial, n int, consumer text)');
});
afterAll(() => made.drop());

/** A consumer of a group of its own, whose broker is in memory and whose transactions are those of a pool. */
async function consume({ after, max = 15, ...settings }: Pooled = {}) {
  const pool = new pg.Pool({ connectionString: made.url, max, types: asText });
  const broker = memoryBroker({ partitions: 2 });
  const events: ConsumerEvent[] = [];
  const group = `group-${(groups += 1)}`;
  const running = await consumer(clientOf(pool), {
    config: {
      database: { url: made.url },
      temporal: { address: inject('temporalAddress') },
      topics: [numbers, mails],
      transports: { kafka: broker },
    },
    group,
    keyConcurrency: 1,
    report: (event) => events.push(event),
    ...settings,
  })
    .on(numbers, async (tx, message) => {
      await tx.query('insert into effect (n, consumer) values ($1, $2)', [message.payload.n, group]);
      await after?.(message, tx);
    })
    .start();
  onTestFinished(async () => {
    await running.stop();
    // A stop does not wait for the answer to the question whether the database can be reached.
    await until(() => pool.idleCount === pool.totalCount, 10_000);
    await pool.end();
  });
  return {
    running,
    events,
    feed: (...ns: readonly number[]) =>
      broker.append(
        numbers.name,
        ...ns.map((n) => ({
          key: `k${n}`,
          body: JSON.stringify({ n }),
          headers: { ce_id: `${group}-${n}` },
        })),
      ),
    effects: async () =>
      (
        await made.database.query<{ n: number }>('select n from effect where consumer = $1 order by seq', [
          group,
        ])
      ).map(({ n }) => n),
    ids: () => made.database.query('select from outbox.processed where consumer_group = $1', [group]),
  };
}

test('with a pool, a handler that throws leaves neither effect nor id nor message and is tried again in place', async () => {
  const sent = () => made.database.query('select from outbox.message');
  const leftByOthers: unknown[] = [];
  const one = await consume({
    quickRetries: [1, 1],
    after: async ({ attempt, payload }, tx) => {
      await send(tx, mails, payload);
      if (payload.n !== 1) return;
      leftByOthers.push([await one.effects(), (await one.ids()).length, (await sent()).length]);
      if (attempt < 3) throw closed;
    },
  });
  one.feed(1, 2);
  await until(() => one.running.counts().handled === 2);

  expect(leftByOthers).toEqual([1, 2, 3].map(() => [[], 0, 0]));
  expect(await one.effects()).toEqual([1, 2]);
  expect(await sent()).toHaveLength(2);
  expect(one.running.counts()).toMatchObject({ failedAttempts: 2, parked: 0 });
});

test('with a pool, a transaction that takes too long is rolled back and its message is handled again', async () => {
  const open = () =>
    made.database.query(
      `select 1 from pg_stat_activity where state like 'idle in transaction%' and datname = current_database()`,
    );
  const one = await consume({
    // As much as a busy machine needs for the second one.
    transactionTimeout: 4_000,
    quickRetries: [1],
    after: async ({ attempt }) => {
      if (attempt === 1) await until(async () => (await open()).length === 0);
    },
  });
  one.feed(1);
  await until(() => one.running.counts().handled === 1);

  expect(one.running.counts().failedAttempts).toBe(1);
  expect(one.events).toContainEqual(
    expect.objectContaining({
      type: 'attempt-failed',
      error: expect.objectContaining({ code: 'OUTBOX_TRANSACTION_ROLLED_BACK' }),
    }),
  );
  expect(await one.effects()).toEqual([1]);
});

test('with a pool, connections that the server ends use up no try, and their messages are handled', {
  tags: ['pool-keeps-promises'],
}, async () => {
  const prisma = openPrisma(made.url);
  onTestFinished(() => prisma.$disconnect());
  let ended = 0;
  const one = await consume({
    // On a busy machine its own limit must not end a transaction.
    transactionTimeout: '1m',
    quickRetries: [],
    retry: [],
    after: async ({ payload: { n } }) => {
      if (ended >= 3 || n % 4 !== 0) return;
      ended += 1;
      await prisma.$queryRaw`
        select pg_terminate_backend(pid) from pg_stat_activity
        where state like 'idle%' and datname = current_database() and pid <> pg_backend_pid()`;
    },
  });
  one.feed(...range(1, 20));
  await until(() => one.running.counts().handled === 20, 60_000);

  expect(ended).toBe(3);
  expect(one.running.counts()).toMatchObject({ failed: 0 });
  expect((await one.effects()).toSorted((a, b) => a - b)).toEqual(range(1, 20));
});

test('a start warns of a pool of pg smaller than the messages in hand', async () => {
  const [tight, fits] = [await consume({ max: 5 }), await consume()];

  expect(tight.events.filter(({ type }) => type === 'pool-small')).toMatchObject([{ connections: 5 }]);
  expect(fits.events.filter(({ type }) => type === 'pool-small')).toEqual([]);
});

// The last one: the database has another level from here on.
test('with a pool, a transaction has the isolation level and the limits of Prisma', async () => {
  await made.database.query(
    `do $$ begin execute format('alter database %I set default_transaction_isolation = %L', current_database(), 'repeatable read'); end $$`,
  );
  let seen: unknown;
  const one = await consume({
    transactionTimeout: '7s',
    after: async (_, tx) => {
      const { rows } = await tx.query(
        `select current_setting('lock_timeout') as lock, current_setting('statement_timeout') as statement,
           current_setting('idle_in_transaction_session_timeout') as idle, current_setting('transaction_isolation') as level`,
      );
      [seen] = rows;
    },
  });
  one.feed(1);
  await until(() => one.running.counts().handled === 1);
  expect(seen).toEqual({ lock: '7s', statement: '7s', idle: '30s', level: 'read committed' });
});
