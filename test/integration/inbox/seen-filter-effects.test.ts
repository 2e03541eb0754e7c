import { randomUUID } from 'node:crypto';
import { createClient } from '@redis/client';
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import type { PrismaClient } from '../../../dev/generated/shop/client.ts';
import { redisFilter } from '../../../src/brokers/redis/filter/redis-filter.ts';
import type { SeenFilter } from '../../../src/brokers/seen-filter.ts';
import { once } from '../../../src/inbox/once.ts';
import { filterInEpoch } from '../../../src/inbox/window/filter-in-epoch.ts';
import { readDatabaseEpoch } from '../../../src/store/inbox/database-epoch.ts';
import { copyDatabase, createTestDatabase, type TestDatabase } from '../../support/fixtures/database.ts';
import { openPrisma } from '../../support/fixtures/prisma.ts';

type Tx = Parameters<Parameters<PrismaClient['$transaction']>[0]>[0];

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

function openFilter(prefix = `test:${randomUUID()}`): SeenFilter {
  const filter = redisFilter({ url: inject('redisUrl'), prefix, requestTimeout: '5s' });
  onTestFinished(() => filter.close());
  return filter;
}

/** One delivery, as a consumer handles it: the filter, the transaction that decides, the filter again. */
async function deliver(filter: SeenFilter, id: string): Promise<'filtered' | 'duplicate' | 'handled'> {
  if ((await filter.seen('web', [id])).has(id)) return 'filtered';
  const outcome = await apply(id);
  await filter.add('web', [id]);
  return outcome;
}

async function apply(
  id: string,
  before: (tx: Tx) => Promise<unknown> = async () => {},
): Promise<'duplicate' | 'handled'> {
  const { duplicate } = await prisma.$transaction((tx) =>
    once(tx, 'web', id, async () => {
      await before(tx);
      await tx.$executeRaw`insert into effect values (${id})`;
    }),
  );
  return duplicate ? 'duplicate' : 'handled';
}

/** To the database, a worker that dies is a connection that ends. */
async function dieInMidWork(id: string): Promise<void> {
  const dies = (tx: Tx) => tx.$executeRaw`select pg_terminate_backend(pg_backend_pid())`;
  await expect(apply(id, dies)).rejects.toThrow(/./);
}

async function effects(id: string): Promise<number> {
  return (await made.database.query('select 1 from effect where id = $1', [id])).length;
}

test('a duplicate in the filter costs no transaction', async () => {
  const filter = openFilter();
  const ids = Array.from({ length: 20 }, () => randomUUID());
  const deliverAll = () => Promise.all(ids.map((id) => deliver(filter, id)));

  expect(new Set(await deliverAll())).toEqual(new Set(['handled']));
  expect(new Set(await deliverAll())).toEqual(new Set(['filtered']));
});

test('a worker that dies between the commit and the note loses nothing: the database has the duplicate', {
  tags: ['fast-filter-loses-nothing'],
}, async () => {
  const filter = openFilter();
  const id = randomUUID();
  await apply(id);

  expect(await deliver(filter, id)).toBe('duplicate');
  expect(await deliver(filter, id)).toBe('filtered');
  expect(await effects(id)).toBe(1);
});

test('a message whose first worker died during its work is handled by the second', {
  tags: ['fast-filter-loses-nothing'],
}, async () => {
  const filter = openFilter();
  const id = randomUUID();
  await dieInMidWork(id);

  expect(await deliver(filter, id)).toBe('handled');
  expect(await effects(id)).toBe(1);
});

test('in contrast, a mark set before the work loses that message', async () => {
  const redis = createClient({ url: inject('redisUrl') });
  await redis.connect();
  onTestFinished(() => redis.destroy());
  const id = randomUUID();
  const isMine = async () => (await redis.setNX(`test:mark:${id}`, '')) === 1;

  expect(await isMine()).toBe(true);
  await dieInMidWork(id);

  expect(await isMine()).toBe(false); // the second worker acknowledges and goes on
  expect(await effects(id)).toBe(0);
});

test('two concurrent workers with an id unknown to the filter have one effect', async () => {
  const filter = openFilter();
  const id = randomUUID();

  const outcomes = await Promise.all([deliver(filter, id), deliver(filter, id), deliver(filter, id)]);

  expect(outcomes.filter((outcome) => outcome === 'handled')).toHaveLength(1);
  expect(await effects(id)).toBe(1);
});

test('a copied database has another epoch, in which the filter has nothing of the original', async () => {
  const shared = openFilter();
  const id = randomUUID();
  const epoch = await readDatabaseEpoch(made.database);
  await filterInEpoch(shared, epoch).add('web', [id]);
  const original = await createTestDatabase();
  onTestFinished(() => original.drop());
  const copy = await copyDatabase(original.url);
  onTestFinished(() => copy.drop());

  expect(await readDatabaseEpoch(made.database)).toBe(epoch);
  expect(epoch).toMatch(/^[0-9a-f-]{36}\.\d+\.\d+\.[0-9A-F]{8}$/);
  expect(await readDatabaseEpoch(copy.database)).not.toBe(await readDatabaseEpoch(original.database));
  expect(await filterInEpoch(shared, epoch).seen('web', [id])).toEqual(new Set([id]));
  expect(await filterInEpoch(shared, await readDatabaseEpoch(copy.database)).seen('web', [id])).toEqual(
    new Set(),
  );
});
