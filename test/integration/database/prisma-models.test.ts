import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { type OutboxReader, openOutboxReader } from '../../../dev/demo/shop-database.ts';
import type { PrismaClient } from '../../../dev/generated/shop/client.ts';
import { cancel, send, topic } from '../../../src/index.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { packageRoot } from '../../../src/store/installation/package-root.ts';
import {
  createEmptyDatabase,
  createTestDatabase,
  type TestDatabase,
} from '../../support/fixtures/database.ts';
import { openPrisma } from '../../support/fixtures/prisma.ts';
import { prismaSchemaSql } from '../../support/fixtures/prisma-schema-sql.ts';

let migrated: TestDatabase;
let modelled: TestDatabase;
let prisma: PrismaClient;
let reader: OutboxReader;

beforeAll(async () => {
  migrated = await createTestDatabase();
  await migrated.database.query(await readFile(path.join(packageRoot(), 'prisma', 'shop.sql'), 'utf8'));
  modelled = await createEmptyDatabase();
  // Made by hand, because Prisma has only the sequences of its own columns, and no functions.
  await modelled.database.query(
    `create schema outbox; create sequence outbox.message_position;
     create function outbox.current_epoch() returns bigint language sql as 'select 1::bigint';
     create function outbox.uuid_v7() returns uuid language sql as 'select gen_random_uuid()';
     create function outbox.clock() returns timestamptz language sql as 'select now()'`,
  );
  // Prisma leaves out the name of the schema "public".
  for (const models of ['shop.prisma', 'outbox.prisma']) {
    await modelled.database.query(`set search_path = public; ${await prismaSchemaSql(modelled.url, models)}`);
  }
  prisma = openPrisma(migrated.url);
  reader = openOutboxReader(migrated.url);
});

afterAll(async () => {
  await prisma.$disconnect();
  await reader.$disconnect();
  await modelled.drop();
  await migrated.drop();
});

interface Column {
  readonly column: string;
  readonly type: string;
  readonly nullable: boolean;
  readonly default: string | null;
}

/** Reads the catalog with every name written in full. */
async function catalog<Row>(
  database: Database,
  text: string,
  values: readonly unknown[] = [],
): Promise<readonly Row[]> {
  return database.transaction(async (sql) => {
    await sql.query(`set local search_path = ''`);
    return sql.query<Row>(text, values);
  });
}

/** Every column of the tables, as `schema.table.column`. What two spellings of one thing share is spelled once. */
async function columns(database: Database, kind: 'r' | 'v'): Promise<readonly Column[]> {
  return catalog<Column>(
    database,
    `select format('%s.%s.%s', n.nspname, c.relname, a.attname) as column,
       format_type(a.atttypid, nullif(a.atttypmod, 6)) as type,
       -- Prisma leaves lists without NOT NULL.
       not a.attnotnull and a.attndims = 0 as nullable,
       case when a.attidentity <> '' or pg_get_expr(d.adbin, d.adrelid) ~ '^nextval[(].*_(id|position|n)_seq''::regclass' then 'counted'
         else replace(pg_get_expr(d.adbin, d.adrelid), 'CURRENT_TIMESTAMP', 'now()') end as default
     from pg_attribute a
       join pg_class c on c.oid = a.attrelid
       join pg_namespace n on n.oid = c.relnamespace
       left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
     where n.nspname in ('outbox', 'public') and a.attnum > 0 and not a.attisdropped
       and (c.relkind in ('r', 'p') and c.relname not in ('message_view', 'message_all')) = $1
       and (c.relkind = 'v' or c.relname in ('message_view', 'message_all')) <> $1
       and c.relkind in ('r', 'p', 'v') and not c.relispartition and c.relname not in ('message_history', 'log_history')
       and not exists (select from pg_inherits i where i.inhrelid = c.oid)
     order by 1`,
    [kind === 'r'],
  );
}

async function primaryKeys(database: Database): Promise<readonly unknown[]> {
  return catalog(
    database,
    `select format('%s.%s', n.nspname, c.relname) as table, pg_get_constraintdef(p.oid) as key
     from pg_constraint p join pg_class c on c.oid = p.conrelid join pg_namespace n on n.oid = c.relnamespace
     where p.contype = 'p' and n.nspname in ('outbox', 'public') and c.relname not in ('message_view', 'message_all')
       and not c.relispartition
     order by 1`,
  );
}

async function enums(database: Database): Promise<readonly unknown[]> {
  return catalog(
    database,
    `select t.typname, array_agg(e.enumlabel::text order by e.enumsortorder) as labels
     from pg_enum e join pg_type t on t.oid = e.enumtypid group by t.typname order by 1`,
  );
}

test('the models and the tables have the same columns, types, nullability and defaults', async () => {
  const tables = await columns(migrated.database, 'r');

  expect(tables.length).toBeGreaterThan(80);
  expect(await columns(modelled.database, 'r')).toEqual(tables);
});

test('the models and the tables have the same primary keys and enums', async () => {
  expect(await primaryKeys(modelled.database)).toEqual(await primaryKeys(migrated.database));
  expect(await enums(modelled.database)).toEqual(await enums(migrated.database));
});

test('the view and its model have the same columns and types', async () => {
  const shape = (all: readonly Column[]) => all.map(({ column, type }) => `${column} ${type}`);
  const view = shape(await columns(migrated.database, 'v'));

  expect(view.length).toBeGreaterThan(20);
  expect(shape(await columns(modelled.database, 'v'))).toEqual(view);
});

test('every model of the outbox reads its table', async () => {
  const { database } = migrated;
  await database.query(
    `insert into outbox.topic (name, transport, address, retry_ms) values ('model', 'kafka', 'model', '{10000,30000}');
     insert into outbox.lane (topic, n, cursor, snapshot, owner, alive_until, hold)
       values ('model', 0, 9007199254740993, pg_current_snapshot(), gen_random_uuid(), now(), '{"why":"down"}');
     insert into outbox.batch (id, topic, lane, first_position, last_position, count, published_at, partitions)
       values (gen_random_uuid(), 'model', 0, 1, 2, 2, now(), '{"0":{"first":"5","count":2}}');
     insert into outbox.attempt (message_id, at, outcome, error) values (gen_random_uuid(), now(), 'rejected', 'no');
     insert into outbox.audit (actor, action, result) values ('ada', 'cancel', 'canceled');
     select outbox.mark_processed('group', '{m-1}', '{model}');
     insert into outbox.consumer_group (consumer_group, window_ms, seen_at) values ('group', null, now());
     insert into outbox.parked_key (consumer_group, topic, key, workflow_id, next_at) values ('group', 'model', 'k', 'w', now());
     insert into outbox.parked (consumer_group, message_id, key_id, topic, key, address, partition, "offset", wire, body, sent_at)
       select 'group', 'm-2', id, 'model', 'k', 'model', 0, '7', '{}', 'body', now() from outbox.parked_key;
     insert into outbox.mark (consumer_group, address, partition, owner, ids)
       values ('group', 'model', 0, gen_random_uuid(), '{7}')`,
  );
  expect(await reader.outboxTopic.findMany()).toMatchObject([{ name: 'model', retryMs: [10_000n, 30_000n] }]);
  expect(await reader.outboxLane.findMany()).toMatchObject([
    { topic: 'model', n: 0, cursor: 9_007_199_254_740_993n, hold: { why: 'down' } },
  ]);
  expect(await reader.outboxBatch.findMany()).toMatchObject([{ count: 2, lastPosition: 2n }]);
  expect(await reader.outboxAttempt.findMany()).toMatchObject([{ outcome: 'rejected', error: 'no' }]);
  expect(await reader.outboxAudit.findMany()).toMatchObject([{ actor: 'ada', result: 'canceled' }]);
  expect(await reader.outboxProcessed.findMany()).toMatchObject([
    { messageId: 'm-1', topic: 'model', epoch: 1n },
  ]);
  expect(await reader.outboxProcessedEpoch.findMany()).toMatchObject([{ epoch: 1n, endedAt: null }]);
  expect(await reader.outboxConsumerGroup.findMany()).toMatchObject([
    { consumerGroup: 'group', windowMs: null },
  ]);
  expect(await reader.outboxParkedKey.findMany()).toMatchObject([
    { key: 'k', workflowId: 'w', toldAt: null },
  ]);
  expect(await reader.outboxParked.findMany()).toMatchObject([
    {
      messageId: 'm-2',
      state: 'parked',
      offset: '7',
      attempts: 0,
      body: new Uint8Array(Buffer.from('body')),
    },
  ]);
  expect(await reader.outboxMark.findMany()).toMatchObject([{ ids: [7], kills: 0 }]);
  expect(await reader.outboxInstallation.count()).toBe(1);
  expect(await reader.outboxMigration.count()).toBeGreaterThan(0);
});

test('the view fills what a message of the log lacks, and knows when its lane has passed it', async () => {
  const read = topic('read', z.object({ text: z.string() }));
  const stored = await prisma.$transaction((tx) =>
    send(tx, read, { text: 'hello' }, { key: 'k', headers: { a: 'b' } }),
  );
  const where = { id: stored.id };
  const row = await reader.outboxMessage.findUniqueOrThrow({ where });
  // Not for readers: what relays note of their hook, and what bounds a debounce.
  const { notified, firstDueAt, ...message } = row;

  expect([notified, firstDueAt]).toEqual([null, null]);
  expect(message).toMatchObject({
    key: 'k',
    headers: { a: 'b' },
    payload: '{"text":"hello"}',
    state: 'ready',
    workflowId: null,
    contentType: null,
  });
  expect(await reader.outboxMessageView.findUniqueOrThrow({ where })).toEqual({
    ...message,
    workflowId: stored.workflowId,
    contentType: 'application/json',
  });

  await migrated.database.query(
    `insert into outbox.lane (topic, n, cursor, snapshot) values ('read', 0, $1, pg_current_snapshot())`,
    [message.position],
  );
  expect(await reader.outboxMessageView.findUniqueOrThrow({ where })).toMatchObject({ state: 'published' });
});

test('an order of the shop commits together with its message', async () => {
  const unpaid = topic('unpaid', z.object({ orderId: z.string() }));
  await prisma.product.create({ data: { id: 'tea', name: 'Tea', stock: 3 } });
  const order = await prisma.$transaction(async (tx) => {
    await tx.product.update({ where: { id: 'tea' }, data: { stock: { decrement: 1 } } });
    const placed = await tx.order.create({ data: { productId: 'tea', quantity: 1, payBy: new Date() } });
    await send(tx, unpaid, { orderId: placed.id }, { after: '15 minutes', ref: placed.id });
    return placed;
  });
  const answer = await prisma.$transaction(async (tx) => {
    await tx.order.update({ where: { id: order.id }, data: { status: 'PAID' } });
    return cancel(tx, unpaid, order.id);
  });

  expect(answer).toBe('canceled');
  expect(
    await prisma.order.findUnique({ where: { id: order.id }, include: { product: true } }),
  ).toMatchObject({
    status: 'PAID',
    product: { stock: 2 },
  });
});

test('the tables of the shop can be created again', async () => {
  const sql = await readFile(path.join(packageRoot(), 'prisma', 'shop.sql'), 'utf8');
  await migrated.database.query(sql);
  await expect(
    migrated.database.query(`insert into public.products (id, name, stock) values ('none', 'None', -1)`),
  ).rejects.toMatchObject({ code: '23514' });
});
