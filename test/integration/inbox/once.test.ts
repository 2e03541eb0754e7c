import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { PrismaClient } from '../../../dev/generated/shop/client.ts';
import { once } from '../../../src/inbox/once.ts';
import { createTestDatabase, type TestDatabase } from '../../support/fixtures/database.ts';
import { openPrisma } from '../../support/fixtures/prisma.ts';

let made: TestDatabase;
let prisma: PrismaClient;

beforeAll(async () => {
  made = await createTestDatabase();
  await made.database.query('create table effect (id text)');
  prisma = openPrisma(made.url);
});
afterAll(async () => {
  await prisma.$disconnect();
  await made.drop();
});

function apply(id: string) {
  return prisma.$transaction((tx) =>
    once(tx, 'web', id, async () => {
      await tx.$executeRaw`insert into effect values (${id})`;
      return 'applied';
    }),
  );
}

async function effects(id: string): Promise<number> {
  return (await made.database.query('select 1 from effect where id = $1', [id])).length;
}

test('work is done the first time and skipped the second', async () => {
  const id = randomUUID();

  expect(await apply(id)).toEqual({ duplicate: false, result: 'applied' });
  expect(await apply(id)).toEqual({ duplicate: true });
  expect(await effects(id)).toBe(1);
});

test('of concurrent transactions with one id, one does the work', async () => {
  const id = randomUUID();

  const results = await Promise.all([apply(id), apply(id), apply(id), apply(id)]);

  expect(results.filter(({ duplicate }) => !duplicate)).toHaveLength(1);
  expect(await effects(id)).toBe(1);
});

test('failed work may be done later', async () => {
  const id = randomUUID();
  const failing = prisma.$transaction((tx) => once(tx, 'web', id, () => Promise.reject(new Error('no'))));
  await expect(failing).rejects.toThrow('no');

  expect(await apply(id)).toEqual({ duplicate: false, result: 'applied' });
});

test('work whose error the caller swallows leaves no id', async () => {
  const id = randomUUID();
  await prisma.$transaction(async (tx) => {
    await once(tx, 'web', id, () => Promise.reject(new Error('no'))).catch(() => undefined);
  });

  expect(await apply(id)).toEqual({ duplicate: false, result: 'applied' });
});

test('work that returns no promise is refused, and its id is not kept: nothing would await it', async () => {
  const id = randomUUID();
  await prisma.$transaction(async (tx) => {
    // @ts-expect-error so does the compiler
    await expect(once(tx, 'web', id, () => undefined)).rejects.toMatchObject({
      code: 'OUTBOX_PROMISE_MISSING',
    });
  });

  expect(await apply(id)).toEqual({ duplicate: false, result: 'applied' });
});

test('another group has its own effect', async () => {
  const id = randomUUID();
  await apply(id);

  const other = await prisma.$transaction((tx) => once(tx, 'mail', id, async () => 'sent'));

  expect(other).toEqual({ duplicate: false, result: 'sent' });
});

test('the client itself is refused, because an id outside of a transaction would survive a rollback', async () => {
  // @ts-expect-error the sentence in the type says what to pass
  await expect(once(prisma, 'web', 'a', () => 1)).rejects.toMatchObject({
    code: 'OUTBOX_NOT_IN_TRANSACTION',
  });
});

test.for(['', 'a\0b', 'x'.repeat(513)])('an id that cannot be stored is refused: %j', async (id) => {
  await expect(apply(id)).rejects.toMatchObject({
    code: 'OUTBOX_OPTION_INVALID',
    details: { option: 'messageId' },
  });
});
