import { PrismaPg } from '@prisma/adapter-pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { PrismaClient } from '../../../dev/generated/shop/client.ts';
import { type Fault, faultOf } from '../../../src/inbox/handling/infrastructure-faults.ts';
import { createTestDatabase, type TestDatabase } from '../../support/fixtures/database.ts';
import type { ShopTransaction } from '../../support/fixtures/inbox-stage.ts';
import { MemoryInbox } from '../../support/fixtures/memory-inbox.ts';
import { openPrisma } from '../../support/fixtures/prisma.ts';
import { until } from '../../support/fixtures/until.ts';

let made: TestDatabase;
beforeAll(async () => {
  made = await createTestDatabase();
  await made.database.query(`create function fail() returns trigger language plpgsql
    as $$ begin raise exception 'no' using errcode = current_setting('my.code'); end $$`);
  await made.database.query('create table public.products (id text primary key, name text, stock integer)');
  await made.database.query(
    'create trigger fail before insert on public.products for each row execute function fail()',
  );
});
afterAll(() => made.drop());

function open(
  url = made.url,
  options: { max?: number; connectionTimeoutMillis?: number } = {},
): PrismaClient {
  const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: url, ...options }) });
  onTestFinished(() => prisma.$disconnect());
  return prisma;
}

const raising = (code: string) => `do $$ begin raise exception 'no' using errcode = '${code}'; end $$`;

async function pidOf(tx: ShopTransaction): Promise<number> {
  const [row] = await tx.$queryRaw<{ pid: number }[]>`select pg_backend_pid() as pid`;
  return row?.pid ?? 0;
}

/** Ends the session, and waits until its client has heard of it. */
async function terminate(pid: number): Promise<void> {
  await made.database.query('select pg_terminate_backend($1)', [pid]);
  await until(async () => {
    const rows = await made.database.query('select from pg_stat_activity where pid = $1', [pid]);
    return rows.length === 0;
  });
  await new Promise((resolve) => setTimeout(resolve, 50));
}

/** What Prisma makes of a failure, and whose fault that is. */
const failures: readonly [what: string, fault: Fault | undefined, work: () => Promise<unknown>][] = [
  ...(
    [
      ['40001', 'conflict'],
      ['40P01', 'conflict'],
      ['57P01', 'away'],
      ['57P03', 'away'],
      ['53300', 'away'],
      ['53100', 'away'],
      ['25006', 'away'],
      ['08006', 'away'],
      ['55P03', undefined],
      ['57014', undefined],
      ['22012', undefined],
    ] as const
  ).flatMap(([code, fault]): typeof failures => [
    [`SQLSTATE ${code} of a raw query`, fault, () => open().$executeRawUnsafe(raising(code))],
    [
      `SQLSTATE ${code} of a model`,
      fault,
      () =>
        open().$transaction(async (tx) => {
          await tx.$executeRaw`select set_config('my.code', ${code}, true)`;
          await tx.product.create({ data: { id: 'a', name: 'a', stock: 1 } });
        }),
    ],
  ]),
  [
    'a session that was ended between two statements',
    'away',
    () =>
      open().$transaction(async (tx) => {
        await terminate(await pidOf(tx));
        await tx.$queryRaw`select 1`;
      }),
  ],
  [
    'a session that was ended in a statement',
    'away',
    () =>
      open().$transaction(async (tx) => {
        const pid = await pidOf(tx);
        await Promise.all([tx.$queryRaw`select pg_sleep(60)::text`, terminate(pid)]);
      }),
  ],
  [
    'a session that was ended before the commit',
    'away',
    () => open().$transaction(async (tx) => terminate(await pidOf(tx))),
  ],
  [
    'no connection of the pool within the wait of Prisma',
    'away',
    () => {
      const prisma = open(made.url, { max: 1 });
      return prisma.$transaction(() => prisma.$transaction(async () => 1, { maxWait: 50 }));
    },
  ],
  [
    'no connection of the pool within the wait of pg',
    'away',
    () => {
      const prisma = open(made.url, { max: 1, connectionTimeoutMillis: 50 });
      return prisma.$transaction(() => prisma.$transaction(async () => 1));
    },
  ],
  [
    'no server at the address',
    'away',
    () => open('postgres://a:b@127.0.0.1:1/c').$transaction(async () => 1),
  ],
  [
    'a transaction that exceeds its limit',
    undefined,
    () => open().$transaction((tx) => tx.$queryRaw`select pg_sleep(0.3)::text`, { timeout: 50 }),
  ],
  ['an error of the handler', undefined, () => Promise.reject(new Error('the bank is closed'))],
  ['a dependency of the handler that refuses connections', undefined, () => fetch('http://127.0.0.1:1')],
];

test.for(failures)('%s is classified as a fault: %s', async ([, fault, work]) => {
  const error: unknown = await work().then(
    () => 'it did not fail',
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(Error);
  expect(faultOf(error)).toBe(fault);
  expect(faultOf(new Error('wrapped by a handler', { cause: error }))).toBe(fault);
});

test('a message that conflicts with other transactions is tried again in place and uses up no try', {
  tags: ['database-errors-cost-no-try'],
}, async () => {
  const inbox = await MemoryInbox.create();
  onTestFinished(() => inbox.end());
  let conflicts = 8;
  const running = await inbox.consume({
    quickRetries: [],
    retry: [],
    before: ({ attempt }) => {
      expect(attempt).toBe(1);
      if (conflicts-- > 0) return inbox.prisma.$executeRawUnsafe(raising('40001'));
      return undefined;
    },
  });
  inbox.feed({ n: 1, key: 'a' });

  await until(() => running.counts().handled === 1);
  expect(running.counts()).toMatchObject({ failedAttempts: 8, parked: 0, failed: 0 });
});

test('a fault of the database uses up no try of a message, also while it is parked', {
  tags: ['database-errors-cost-no-try'],
}, async () => {
  const inbox = await MemoryInbox.create();
  onTestFinished(() => inbox.end());
  let faults = 3;
  const prisma = openPrisma(inbox.url);
  onTestFinished(() => prisma.$disconnect());
  const attempts: number[] = [];
  const running = await inbox.consume({
    quickRetries: [],
    retry: [10],
    before: ({ attempt }) => {
      attempts.push(attempt);
      if (faults-- > 0) return prisma.$executeRawUnsafe(raising('57P01'));
      return undefined;
    },
  });
  inbox.feed({ n: 1, key: 'a' });

  await until(() => running.counts().handled === 1 && running.counts().parked === 1, 60_000);
  // Parked by the first fault, uncounted; two tries were given back.
  expect(attempts).toEqual([1, 1, 1, 1]);
  expect(running.counts()).toMatchObject({ failed: 0, failedAttempts: 3 });
});
