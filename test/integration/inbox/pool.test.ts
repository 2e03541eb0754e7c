import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { send, topic } from '../../../src/index.ts';
import { InboxStage, range, type StagedConsumer } from '../../support/fixtures/inbox-stage.ts';
import { consumeByPool, type PoolConsumeOptions } from '../../support/fixtures/pool-consumer.ts';
import { until } from '../../support/fixtures/until.ts';
import { startProgram } from '../../support/processes/program.ts';

let stage: InboxStage;
let pool: pg.Pool;
const running: StagedConsumer[] = [];

beforeEach(async () => {
  stage = await InboxStage.create(2);
  pool = new pg.Pool({ connectionString: stage.url, max: 15, types: asText });
});

afterEach(async () => {
  await Promise.all(running.splice(0).map((one) => one.stop()));
  // A stop does not wait for the answer to the question whether the database can be reached.
  await until(() => pool.idleCount === pool.totalCount, 10_000);
  await pool.end();
  await stage.end();
});

async function consume(
  name: string,
  options: Omit<PoolConsumeOptions, 'pool'> = {},
): Promise<StagedConsumer> {
  const one = await consumeByPool(stage, name, { pool, ...options });
  running.push(one);
  return one;
}

/** As applications have pg read what JavaScript cannot hold: times to the microsecond, and 64 bits. */
const asText: pg.CustomTypesConfig = {
  getTypeParser: (id: Parameters<typeof pg.types.getTypeParser>[0], format?: 'text' | 'binary') =>
    id === pg.types.builtins.TIMESTAMPTZ || id === pg.types.builtins.INT8
      ? (value: unknown) => value
      : (pg.types.getTypeParser(id, format) as (value: unknown) => unknown),
};

const closed = new Error('the bank is closed');

test('with a pool, records with one id have one effect', async () => {
  const id = randomUUID();
  await stage.publish(
    [0, 1].flatMap((partition) => [
      { n: 1, id, partition },
      { n: 2 + partition, partition },
    ]),
  );
  const one = await consume('one');
  await until(() => one.counts().handled + one.counts().duplicates === 4);

  expect(one.counts()).toMatchObject({ handled: 3, duplicates: 1, failedAttempts: 0 });
  expect((await stage.effects()).toSorted((a, b) => a - b)).toEqual([1, 2, 3]);
});

test('with a pool, a handler that throws leaves neither effect nor id nor message and is tried again in place', async () => {
  const mails = topic('mails', z.object({ n: z.number() }));
  const sent = () => stage.prisma.$queryRaw<unknown[]>`select from outbox.message`;
  await stage.publish([{ n: 1 }, { n: 2 }]);
  const leftByOthers: unknown[] = [];

  const one = await consume('one', {
    quickRetries: [1, 1],
    afterEffect: async ({ attempt, payload }, tx) => {
      await send(tx, mails, payload);
      if (payload.n !== 1) return;
      leftByOthers.push([await stage.effects(), await stage.processedIds(), (await sent()).length]);
      if (attempt < 3) throw closed;
    },
  });
  await until(() => one.counts().handled === 2);

  expect(leftByOthers).toEqual([1, 2, 3].map(() => [[], 0, 0]));
  expect(await stage.effects()).toEqual([1, 2]);
  expect(await sent()).toHaveLength(2);
  expect(one.counts()).toMatchObject({ failedAttempts: 2, parked: 0 });
});

test('with a pool, a message that fails is parked and returns in the order of its key', async () => {
  let healthy = false;
  const sentAt: (Date | null)[] = [];
  const one = await consume('one', {
    quickRetries: [],
    retry: range(1, 90).map(() => '200ms' as const),
    afterEffect: (message) => {
      if (message.payload.n !== 1) return;
      sentAt.push(message.sentAt);
      if (!healthy) throw closed;
    },
  });
  await stage.publish(range(1, 3).map((n) => ({ n, key: 'a' })));
  await stage.publish(range(4, 6).map((n) => ({ n, key: 'b', partition: 1 })));
  await until(async () => (await stage.kept()).length === 3 && one.counts().handled === 3);
  expect(await stage.effects()).toEqual([4, 5, 6]);

  healthy = true;
  await until(() => one.counts().handled === 6, 60_000);

  expect(await stage.effects()).toEqual(range(4, 6).concat(range(1, 3)));
  expect(sentAt.at(-1)).toEqual(new Date('2026-01-02T03:04:05Z'));
  expect(await stage.kept()).toEqual([]);
});

test('with a pool, a batch is one transaction, and a failed one is handled singly', async () => {
  const one = await consume('one', {
    batch: { size: 10 },
    quickRetries: [],
    retry: ['1h'],
    afterEffect: ({ payload: { n } }) => {
      if (n === 14) throw closed;
    },
  });
  await stage.publish(range(1, 10).map((n) => ({ n, key: `k${n}` })));
  await until(() => one.counts().handled === 10);
  const sizes = await stage.prisma.$queryRaw<{ size: number }[]>`
    select count(*)::integer as size from effect group by xmin::text`;
  expect(sizes).toEqual([{ size: 10 }]);

  await stage.publish(range(11, 20).map((n) => ({ n, key: `k${n}` })));
  await until(() => one.counts().handled === 19 && one.counts().parked === 1);
  expect(await stage.effects()).toEqual(range(1, 20).filter((n) => n !== 14));
  expect(await stage.kept()).toMatchObject([{ n: 14, state: 'parked', reason: 'error' }]);
});

test('with a pool, a transaction has the isolation level and the limits of Prisma', async () => {
  await stage.prisma.$executeRawUnsafe(
    `do $$ begin execute format('alter database %I set default_transaction_isolation = %L', current_database(), 'repeatable read'); end $$`,
  );
  await stage.publish([{ n: 1 }]);
  let seen: unknown;
  const one = await consume('one', {
    transactionTimeout: '7s',
    afterEffect: async (_, tx) => {
      const { rows } = await tx.query(
        `select current_setting('lock_timeout') as lock, current_setting('statement_timeout') as statement,
           current_setting('idle_in_transaction_session_timeout') as idle, current_setting('transaction_isolation') as level`,
      );
      [seen] = rows;
    },
  });
  await until(() => one.counts().handled === 1);
  expect(seen).toEqual({ lock: '7s', statement: '7s', idle: '30s', level: 'read committed' });
});

test('with a pool, a transaction that takes too long is rolled back and its message is handled again', async () => {
  await stage.publish([{ n: 1 }]);
  const open = () =>
    stage.prisma.$queryRaw<unknown[]>`
      select 1 from pg_stat_activity where state like 'idle in transaction%' and datname = current_database()`;
  const one = await consume('one', {
    // As much as a busy machine needs for the second one.
    transactionTimeout: 8_000,
    quickRetries: [1],
    afterEffect: async ({ attempt }) => {
      if (attempt === 1) await until(async () => (await open()).length === 0);
    },
  });
  await until(() => one.counts().handled === 1);

  expect(one.counts().failedAttempts).toBe(1);
  expect(one.events).toContainEqual(
    expect.objectContaining({
      type: 'attempt-failed',
      error: expect.objectContaining({ code: 'OUTBOX_TRANSACTION_ROLLED_BACK' }),
    }),
  );
  expect(await stage.effects()).toEqual([1]);
});

test('with a pool, connections that the server ends use up no try, and their messages are handled', {
  tags: ['pool-keeps-promises'],
}, async () => {
  await stage.publish(range(1, 20).map((n) => ({ n, key: `k${n}`, partition: n % 2 })));
  let ended = 0;
  const one = await consume('one', {
    quickRetries: [],
    retry: [],
    afterEffect: async ({ payload: { n } }) => {
      if (ended >= 3 || n % 4 !== 0) return;
      ended += 1;
      await stage.prisma.$queryRaw`
        select pg_terminate_backend(pid) from pg_stat_activity
        where state like 'idle%' and datname = current_database() and pid <> pg_backend_pid()`;
    },
  });
  await until(() => one.counts().handled === 20, 60_000);

  expect(ended).toBe(3);
  expect(one.counts()).toMatchObject({ failed: 0 });
  expect((await stage.effects()).toSorted((a, b) => a - b)).toEqual(range(1, 20));
});

test('with a pool, a consumer killed within its transaction leaves no effect, and the next one applies it', {
  tags: ['pool-keeps-promises'],
  timeout: 240_000,
}, async () => {
  await stage.publish(range(1, 10).map((n) => ({ n })));
  const signal = await startProgram('consumer-main', {
    ...stage.elsewhere,
    name: 'killed',
    byPool: true,
    crash: { point: 'inbox:handled', pass: 4 },
  }).exited;
  expect(signal).toBe('SIGKILL');
  expect(await stage.effects()).toEqual(range(1, 3));

  const next = await consume('next');
  // The broker waits 10 s for the killed member before it gives its partitions to the next.
  await until(() => next.counts().handled === 7, 60_000);
  expect(await stage.effects()).toEqual(range(1, 10));
});

test('a start warns of a pool of pg smaller than the messages in hand', async () => {
  const small = new pg.Pool({ connectionString: stage.url, max: 5 });
  const tight = await consumeByPool(stage, 'tight', { pool: small });
  const fits = await consume('fits', {});
  await Promise.all([tight.stop(), fits.stop()]);
  await small.end();
  expect(tight.events.filter(({ type }) => type === 'pool-small')).toMatchObject([{ connections: 5 }]);
  expect(fits.events.filter(({ type }) => type === 'pool-small')).toEqual([]);
});
