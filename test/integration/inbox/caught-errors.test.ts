import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import type { PrismaClient } from '../../../dev/generated/shop/client.ts';
import type { TransactionClient } from '../../../src/inbox/transaction-client.ts';
import { type MemoryInbox, memoryInboxes } from '../../support/fixtures/memory-inbox.ts';
import { until } from '../../support/fixtures/until.ts';
import type { ShopTransaction } from '../../support/processes/fed-consumer.ts';

const openInbox = memoryInboxes();
let inbox: MemoryInbox;
afterEach(() => inbox.leave());

const never = { quickRetries: [], retry: [] };

async function fails(tx: ShopTransaction): Promise<void> {
  await tx.$executeRaw`select 1 / 0`.catch(() => undefined);
}

// PostgreSQL answers the COMMIT of a transaction in which a statement has failed with a ROLLBACK, and no error.
test.each([
  ['alone', {}],
  ['many at once', { keyConcurrency: 8 }],
  ['in a batch', { batch: { size: 10 } }],
  ['handled together', { batch: { size: 10 }, inBatches: true }],
])(
  'a message whose handler caught an error of the database is not lost: %s',
  { tags: ['handled-only-if-committed'] },
  async (_, how) => {
    inbox = await openInbox();
    const running = await inbox.consume({
      ...never,
      ...how,
      after: async ({ payload: { n } }, tx) => (n === 2 ? fails(tx) : undefined),
    });
    inbox.feed({ n: 1 }, { n: 2 }, { n: 3 });

    await until(() => running.counts().handled + running.counts().failed === 3);
    expect(running.counts()).toMatchObject({ handled: 2, failed: 1 });
    expect(await inbox.effects()).toEqual(expect.arrayContaining([1, 3]));
    expect(await inbox.effects()).toHaveLength(2);
    expect(await inbox.kept()).toMatchObject([{ n: 2, state: 'failed', reason: 'error' }]);
  },
);

/** The tables of the demo are not in this database, so that every operation of its models fails there. */
const failures: Readonly<Record<string, (tx: ShopTransaction) => unknown>> = {
  'a model': (tx) => tx.product.findMany().catch(() => undefined),
  'a nested write': (tx) =>
    tx.product
      .create({
        data: { id: 'p', name: 'p', stock: 1, orders: { create: { quantity: 1, payBy: new Date() } } },
      })
      .catch(() => undefined),
  'a unique find': (tx) => tx.product.findUnique({ where: { id: 'p' } }).catch(() => undefined),
  'a raw query': (tx) => tx.$queryRawUnsafe('select 1 / 0').catch(() => undefined),
  'what nobody awaits': async (tx) => {
    // Refused only after the COMMIT has been sent behind it.
    const late = tx.$executeRawUnsafe('select 1 / (n - n) from generate_series(1, 1) n, pg_sleep(0.05)');
    void late.catch(() => undefined);
    await turn();
  },
};

const clients: Readonly<Record<string, (prisma: PrismaClient) => TransactionClient<ShopTransaction>>> = {
  'a client': (prisma) => prisma,
  'an extended client that catches every error': extended,
  'a client that chooses another one for each transaction': (prisma) => ({
    $transaction: (work, options) => extended(prisma).$transaction(work, options),
  }),
  'a client that emits no failures': (prisma) => ({
    $transaction: (work, options) => prisma.$transaction((tx) => work(silent(tx)), options),
  }),
};

function extended(prisma: PrismaClient): TransactionClient<ShopTransaction> {
  return prisma.$extends({
    query: { $allOperations: ({ args, query }) => query(args).catch(() => undefined) },
    result: { product: { label: { needs: { name: true }, compute: ({ name }) => name } } },
  }) as unknown as TransactionClient<ShopTransaction>;
}

/** As Prisma would be if it named what the library reads differently. */
function silent(tx: ShopTransaction): ShopTransaction {
  return new Proxy(tx, {
    get: (of, name): unknown => (name === '_engineConfig' ? undefined : Reflect.get(of, name)),
  });
}

test.each(
  Object.entries(clients).flatMap(([client, made]) =>
    Object.entries(failures).map(([failure, fail]) => ({ client, made, failure, fail })),
  ),
)(
  'with $client, a caught error of $failure fails its message',
  { tags: ['handled-only-if-committed'] },
  async ({ made, fail }) => {
    inbox = await openInbox();
    const running = await inbox.consume(
      { ...never, after: async ({ payload: { n } }, tx) => (n === 1 ? fail(tx) : undefined) },
      made(inbox.prisma),
    );
    inbox.feed({ n: 1 }, { n: 2 });

    await until(() => running.counts().handled + running.counts().failed === 2);
    expect(running.counts()).toMatchObject({ handled: 1, failed: 1 });
    expect(await inbox.effects()).toEqual([2]);
    expect(running.events.filter(({ type }) => type === 'attempt-failed')).toMatchObject([
      { error: { code: 'OUTBOX_TRANSACTION_ROLLED_BACK' } },
    ]);
  },
);

test('an error within a savepoint, or of another message, fails nothing', {
  tags: ['handled-only-if-committed'],
}, async () => {
  inbox = await openInbox();
  const running = await inbox.consume({
    ...never,
    keyConcurrency: 4,
    after: async ({ payload: { n } }, tx) => {
      if (n % 2 === 0) return;
      await tx.$executeRaw`savepoint here`;
      await fails(tx);
      await tx.$executeRaw`rollback to here`;
    },
  });
  inbox.feed(...Array.from({ length: 20 }, (_, n) => ({ n })));

  await until(() => running.counts().handled === 20);
  expect(running.counts()).toMatchObject({ failed: 0, failedAttempts: 0 });
  expect([...(await inbox.effects())].toSorted((a, b) => a - b)).toEqual(
    Array.from({ length: 20 }, (_, n) => n),
  );
});

test('a middleware sees the rollback that the client takes for a commit', {
  tags: ['handled-only-if-committed'],
}, async () => {
  inbox = await openInbox();
  const told: string[] = [];
  const running = await inbox.consume({
    ...never,
    after: async (_message, tx) => fails(tx),
    middlewares: [
      async (_context, next) => {
        await next().then(
          () => told.push('committed'),
          () => told.push('failed'),
        );
      },
    ],
  });
  inbox.feed({ n: 1 });

  await until(() => running.counts().failed === 1);
  expect(told).toEqual(['failed']);
});
