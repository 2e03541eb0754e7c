import { AsyncLocalStorage } from 'node:async_hooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import type { PrismaClient } from '../../../dev/generated/shop/client.ts';
import { once } from '../../../src/consumer.ts';
import type { TransactionClient } from '../../../src/inbox/transaction-client.ts';
import {
  cancel,
  reschedule,
  send,
  sendBatch,
  type Transaction,
  topic,
  transaction,
} from '../../../src/index.ts';
import { MemoryInbox } from '../../support/fixtures/memory-inbox.ts';
import type { ShopTransaction } from '../../support/processes/fed-consumer.ts';

let inbox: MemoryInbox;
let prisma: PrismaClient;
beforeAll(async () => {
  inbox = await MemoryInbox.create();
  ({ prisma } = inbox);
});
afterAll(() => inbox.end());

const orders = topic('orders', z.object({ text: z.string() }));
const text = { text: 'x' };
const refusal = {
  code: 'OUTBOX_NOT_IN_TRANSACTION',
  message: expect.stringContaining('an extension of the client'),
};
const tenant = new AsyncLocalStorage<string>();

/** As Prisma's example of row level security: each statement in a transaction that first names the tenant, if there is one. */
function secured(always: boolean): PrismaClient {
  return prisma.$extends({
    query: {
      async $allOperations({ args, query }): Promise<unknown> {
        if (!always && tenant.getStore() === undefined) return query(args) as Promise<unknown>;
        const setTenant = prisma.$executeRawUnsafe(`select set_config('app.tenant', 'a', true)`);
        const answers: readonly unknown[] = await prisma.$transaction([setTenant, query(args)]);
        return answers[1];
      },
    },
  }) as unknown as PrismaClient;
}

async function stored(): Promise<unknown> {
  const [row] = await inbox.database.query(
    `select (select count(*)::integer from outbox.message) as messages, (select count(*)::integer from effect) as effects,
       (select count(*)::integer from outbox.processed) as ids`,
  );
  return row;
}

const write = (tx: ShopTransaction): Promise<unknown> =>
  tx.$executeRawUnsafe('insert into effect (n) values (1)');

test('a client that runs each statement in a transaction of its own is refused before the work of a transaction', {
  tags: ['no-ghost'],
}, async () => {
  const before = await stored();
  let called = false;
  const sent = transaction(secured(true), async (tx) => {
    called = true;
    await write(tx);
    return send(tx, orders, text);
  });
  await expect(sent).rejects.toMatchObject(refusal);
  expect(called).toBe(false);
  expect(await stored()).toEqual(before);
});

const calls: Readonly<Record<string, (tx: Transaction) => Promise<unknown>>> = {
  send: (tx) => send(tx, orders, text),
  'send with a ref': (tx) => send(tx, orders, text, { ref: 'r' }),
  sendBatch: (tx) => sendBatch(tx, orders, [{ payload: text }]),
  cancel: (tx) => cancel(tx, orders, 'r'),
  'cancel of a key': (tx) => cancel(tx, orders, { key: 'k' }),
  reschedule: (tx) => reschedule(tx, orders, 'r', { after: 0 }),
  once: (tx) => once(tx, 'group', 'id', async () => undefined),
};

test.each(Object.entries(calls))(
  '%s in a plain transaction of it is refused, and stores nothing',
  async (_, call) => {
    const before = await stored();
    await expect(secured(true).$transaction((tx) => call(tx))).rejects.toMatchObject(refusal);
    expect(await stored()).toEqual(before);
  },
);

test('one that does so for some requests only is refused for these', async () => {
  const client = secured(false);
  await transaction(client, (tx) => send(tx, orders, text));
  const before = await stored();
  const sent = tenant.run('a', () => client.$transaction((tx) => send(tx, orders, text)));
  await expect(sent).rejects.toMatchObject(refusal);
  expect(await stored()).toEqual(before);
});

test('a consumer with it does not start', async () => {
  const client = secured(true) as unknown as TransactionClient<ShopTransaction>;
  await expect(inbox.consume({}, client)).rejects.toMatchObject(refusal);
});

test('no statement is added but for a client whose extension sees raw statements, and there two per transaction', async () => {
  const seen: string[] = [];
  const counted = (client: PrismaClient): Promise<readonly string[]> =>
    client.$transaction(async (tx) => {
      seen.length = 0;
      const spied = new Proxy(tx, {
        get: (of, name): unknown =>
          name === '$queryRawUnsafe'
            ? (statement: string, ...values: unknown[]) => {
                seen.push(statement);
                return of.$queryRawUnsafe(statement, ...values);
              }
            : Reflect.get(of, name),
      });
      await send(spied, orders, text);
      await send(spied, orders, text);
      return [...seen];
    });
  const ofModels = prisma.$extends({
    query: { product: { findMany: ({ args, query }) => query(args) } },
  }) as unknown as PrismaClient;
  const ofAll = prisma.$extends({
    query: { $allOperations: ({ args, query }) => query(args) },
  }) as unknown as PrismaClient;
  expect(await counted(prisma)).toHaveLength(2);
  expect(await counted(ofModels)).toHaveLength(2);
  expect(await counted(ofAll)).toHaveLength(4);
});
