import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { z } from 'zod';
import type { PrismaClient } from '../../../dev/generated/shop/client.ts';
import { type MemorySource, memorySource } from '../../../src/brokers/memory/memory-source.ts';
import { topic } from '../../../src/core/topic.ts';
import { operations } from '../../../src/operations.ts';
import { cancel, reschedule } from '../../../src/outbox/change.ts';
import { send } from '../../../src/outbox/send.ts';
import { transaction } from '../../../src/outbox/transact.ts';
import { noteWindow } from '../../../src/store/inbox/window.ts';
import { takeOut } from '../../../src/store/message/take-out.ts';
import { dayMs, EpochFixture } from '../../support/fixtures/epoch-fixture.ts';
import { ada } from '../../support/fixtures/operator.ts';
import { openPrisma } from '../../support/fixtures/prisma.ts';
import { applyRoles, type RoleName, type Roles } from '../../support/fixtures/roles.ts';
import { until } from '../../support/fixtures/until.ts';
import { type FedConsumer, feed, startFed } from '../../support/processes/fed-consumer.ts';

let fixture: EpochFixture;
let roles: Roles;
let source: MemorySource;
const ends: (() => Promise<void>)[] = [];

beforeEach(async () => {
  fixture = await EpochFixture.create();
  // Of its own, because a new group begins with the oldest message.
  source = memorySource();
  await fixture.database.query('create table effect (seq bigserial, n int, consumer text, at timestamptz)');
  roles = await applyRoles(fixture);
  await fixture.database.query(`grant all on effect, effect_seq_seq to ${roles.nameOf('consumer')}`);
});
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
  await fixture.drop();
});

function clientOf(role: RoleName): PrismaClient {
  const prisma = openPrisma(roles.urlOf(role));
  ends.push(() => prisma.$disconnect());
  return prisma;
}

async function consume(): Promise<FedConsumer> {
  const running = await startFed(clientOf('consumer'), source, {
    group: roles.nameOf('consumer'),
    quickRetries: [],
    retry: [10],
    window: '30 days',
    temporalAddress: inject('temporalAddress'),
    before: ({ payload: { n }, attempt }) => {
      if (n === 2 && attempt === 1) throw new Error('again');
    },
  });
  ends.push(() => running.stop());
  return running;
}

async function effects(): Promise<readonly number[]> {
  const rows = await fixture.database.query<{ n: number }>('select n from effect order by seq');
  return rows.map(({ n }) => n);
}

const troubles = ({ events }: FedConsumer) => events.filter(({ type }) => type.endsWith('-failing'));

test('with the grants of its role a service sends, cancels and reschedules', async () => {
  const prisma = clientOf('sender');
  const orders = topic('orders', z.object({ n: z.number() }));
  const stored = await transaction(prisma, async (tx) => {
    const { id } = await send(tx, orders, { n: 1 }, { key: 'a' });
    await send(tx, orders, { n: 1 }, { id, key: 'a' });
    await send(tx, orders, { n: 2 }, { ref: 'two', after: '1 hour' });
    await send(tx, orders, { n: 3 }, { ref: 'three', after: '1 hour' });
    return id;
  });

  expect(await transaction(prisma, (tx) => cancel(tx, orders, 'two'))).toBe('canceled');
  expect(await transaction(prisma, (tx) => reschedule(tx, orders, 'three', { after: '2 hours' }))).toBe(
    'rescheduled',
  );
  expect(
    await fixture.database.query(
      'select id, state::text as state, ref from outbox.message order by position',
    ),
  ).toEqual([
    { id: stored, state: 'ready', ref: null },
    { id: expect.any(String), state: 'canceled', ref: 'two' },
    { id: expect.any(String), state: 'waiting', ref: 'three' },
  ]);
  await expect(prisma.$queryRaw`select outbox.roll_processed(0, 1, 0)`).rejects.toThrow(/permission denied/);
});

test('with the grants of its role a service in another language sends, cancels and reschedules by SQL', async () => {
  const prisma = clientOf('sender');
  const [answer] = await prisma.$queryRaw<unknown[]>`
    with one as (select * from outbox.send('orders', '1', key => 'a')),
         two as (select * from outbox.send_batch('orders', '[{"payload":"2","ref":"two","afterMs":60000}]'))
    select one.state::text as one, two.state::text as two from one, two`;
  expect(answer).toEqual({ one: 'ready', two: 'waiting' });

  expect(
    await prisma.$queryRaw`select outbox.reschedule('orders', 'two', after => '1 hour') as moved`,
  ).toEqual([{ moved: 'rescheduled' }]);
  expect(await prisma.$queryRaw`select outbox.cancel('orders', 'two') as ended`).toEqual([
    { ended: 'canceled' },
  ]);
});

test('with the grants of its role a service cancels a retrying message, and cannot record freed keys otherwise', async () => {
  const prisma = clientOf('sender');
  const orders = topic('orders', z.object({ n: z.number() }));
  const { id } = await transaction(prisma, (tx) => send(tx, orders, { n: 1 }, { key: 'a' }));
  await takeOut(fixture.database, [id]);
  await fixture.database.query(
    `update outbox.message set state = 'retrying', attempts = 1, due_at = outbox.clock() + interval '1 hour' where id = $1`,
    [id],
  );

  expect(await transaction(prisma, (tx) => cancel(tx, orders, { id }))).toBe('canceled');
  expect(await fixture.database.query('select key from outbox.freed_key')).toEqual([{ key: 'a' }]);

  const name = roles.nameOf('sender');
  await fixture.database.query(`create schema ${name} authorization ${name}`);
  await prisma.$executeRawUnsafe(`create table ${name}.own (topic text, lane integer, key text, state text)`);
  await expect(
    prisma.$executeRawUnsafe(
      `create trigger own after insert on ${name}.own for each row execute function outbox.note_freed()`,
    ),
  ).rejects.toThrow(/permission denied/);
  await expect(
    prisma.$executeRaw`insert into outbox.freed_key (topic, lane, key) values ('orders', 0, 'b')`,
  ).rejects.toThrow(/permission denied/);
});

test('with the grants of its role a consumer handles and parks, and begins, uses and drops epochs', async () => {
  feed(source, { n: 1 }, { n: 2, key: 'a' }, { n: 3, key: 'a' });
  const first = await consume();
  await until(async () => (await effects()).length === 3);
  expect(await effects()).toEqual([1, 2, 3]);
  await first.stop();

  await fixture.pass(8 * dayMs);
  const second = await consume();
  feed(source, { n: 4 }, { n: 5, key: 'a' }, { n: 4 }, { n: 1 });
  await until(async () => (await effects()).length === 5);
  expect(await fixture.epochs()).toEqual([1, 2]);
  await second.stop();

  await fixture.pass(31 * dayMs);
  const third = await consume();
  feed(source, { n: 6 });
  await until(async () => (await effects()).includes(6));
  expect([first, second, third].flatMap(troubles)).toEqual([]);
  expect(await fixture.epochs()).toEqual([2, 3]);
});

test('a consumer that may not change epochs reports the missing grants at start and handles messages', async () => {
  await fixture.database.query(
    `revoke execute on function outbox.roll_processed, outbox.drop_processed from ${roles.nameOf('consumer')}`,
  );
  const running = await consume();

  expect(troubles(running)).toMatchObject([
    {
      type: 'window-failing',
      error: {
        code: 'OUTBOX_PRIVILEGE_MISSING',
        message: expect.stringContaining(`"${roles.nameOf('consumer')}"`),
        next: expect.stringContaining('docs/production.md'),
      },
    },
  ]);
  feed(source, { n: 1 });
  await until(async () => (await effects()).length === 1);
});

test('a consumer that may not change epochs leaves them to the relay of its database', async () => {
  await fixture.database.query(
    `revoke execute on function outbox.roll_processed, outbox.drop_processed from ${roles.nameOf('consumer')}`,
  );
  await noteWindow(fixture.database, { group: '', windowMs: 30 * dayMs });
  await fixture.mark(['a']);
  const before = await consume();
  await before.stop();
  await fixture.pass(0.9 * dayMs);
  const running = await consume();
  expect([before, running].flatMap(troubles)).toEqual([]);
  await running.stop();

  // The relay has not been there for more than a day.
  await fixture.pass(dayMs);
  expect(troubles(await consume())).toMatchObject([{ error: { code: 'OUTBOX_PRIVILEGE_MISSING' } }]);
});

test('with the grants of its role a consumer runs the bulk operations that an operator starts on what its group keeps', async () => {
  const group = roles.nameOf('consumer');
  await fixture.database.query(
    `insert into outbox.parked (consumer_group, message_id, state, topic, key, address, partition, "offset", wire, body, sent_at, reason)
     select $1, 'kept-' || g, 'failed', 'numbers', 'k', 'numbers', 0, g,
       json_build_object('key', 'k', 'headers', json_build_object('ce_id', 'kept-' || g, 'ce_type', 'numbers')),
       convert_to('{"n":' || g || '}', 'UTF8'), now(), 'error'
     from generate_series(4, 6) g`,
    [group],
  );
  await consume();
  const at = operations({ database: { url: roles.urlOf('operator') } });
  ends.push(() => at.close());
  const { id } = await at.inbox.bulk.start({ group, states: ['failed'] }, { action: 'retry' }, ada);

  const state = () => at.inbox.bulk.show(id ?? '');
  await until(async () => (await state()).state !== 'running', 30_000);
  expect(await state()).toMatchObject({ state: 'done', counts: { retried: 3 } });
  await until(async () => (await effects()).length === 3);
});
